-- Lists the shard ids that are reserved for imported rows and how far each has come.
create function shardflake.backfills(out shard_id integer, out last_id bigint, out last_time timestamptz) returns setof record
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select b.shard_id, b.last_id, b.last_time from shardflake._backfill b where b.owner = shardflake.shard_id() order by b.shard_id;
end $$;

comment on function shardflake.backfills() is
  'A row for each shard id that is reserved for imported rows: the last id, and the time of the row that it is for; NULL before the first.';

revoke execute on function shardflake.backfills() from public;
