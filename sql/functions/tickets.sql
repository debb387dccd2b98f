-- Lists the series of tickets and how far each has come.
create function shardflake.tickets(
  out series text,
  out next_number bigint,
  out last_number bigint,
  out increment bigint,
  out gap_free boolean,
  out failover_skip bigint
) returns setof record
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select t.series, t.next_number, t.last_number, t.increment, t.gap_free, t.failover_skip from shardflake._ticket t order by t.series;
end $$;

comment on function shardflake.tickets() is
  'A row for each series of tickets: the next number, the last one there is, the step, and how many are left out after a failover.';

revoke execute on function shardflake.tickets() from public;
