-- Lets a role take tickets of every series, and nothing more.
create function shardflake.grant_ticket_usage(p_role regrole) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
  execute format('grant usage on schema shardflake to %s', p_role);
  execute format(
    'grant execute on function shardflake.lease_tickets(text, bigint), shardflake.next_invoice_number(text), shardflake.tickets() to %s', p_role);
end $$;

comment on function shardflake.grant_ticket_usage(regrole) is
  'Grants p_role USAGE on the schema and EXECUTE on what takes and lists tickets.';

revoke execute on function shardflake.grant_ticket_usage(regrole) from public;
