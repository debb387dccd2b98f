-- Refuses to issue an id of a shard that this database does not own.
create function shardflake._refuse_shard(p_shard integer) returns integer
language plpgsql volatile parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if shardflake.shard_id() is null then
    return shardflake._no_shard();
  end if;
  raise exception 'shard % is not one of this database''s shards %', coalesce(p_shard::text, 'NULL'), shardflake._logical_shards() using
    errcode = 'SF009',
    hint = 'Route the row to the database that owns the shard, or run SELECT shardflake.assign_shard(' ||
           shardflake.shard_id() || ', logical_shards => ...) here if no other database owns it.';
end $$;

comment on function shardflake._refuse_shard(integer) is
  'Raises SF009: the shard is not one that this database owns.';

revoke execute on function shardflake._refuse_shard(integer) from public;
