-- Lets a role make ids of imported rows, and nothing more.
create function shardflake.grant_backfill_usage(p_role regrole) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
  execute format('grant usage on schema shardflake to %s', p_role);
  execute format('grant execute on function shardflake.backfill_ids(integer, timestamptz[]), shardflake.backfills() to %s', p_role);
end $$;

comment on function shardflake.grant_backfill_usage(regrole) is
  'Grants p_role USAGE on the schema and EXECUTE on what makes ids of imported rows and lists how far they have come.';

revoke execute on function shardflake.grant_backfill_usage(regrole) from public;
