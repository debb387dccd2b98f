-- Writes which shard ids this database may issue, and keeps those that it no longer may in mind. Called with the generator's lock held.
create function shardflake._set_logical_shards(p_shards integer[]) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
  execute format('create or replace function shardflake._issued_shards() returns integer[] language sql stable parallel safe return %L::integer[]',
                 array(select distinct s from unnest(shardflake._issued_shards() || p_shards) as s order by s));
  execute format('create or replace function shardflake._logical_shards() returns integer[] language sql stable parallel safe return %L::integer[]',
                 array(select distinct s from unnest(p_shards) as s order by s));
end $$;

comment on function shardflake._set_logical_shards(integer[]) is
  'Writes the shard ids that this database may issue. Private: assign_shard(), add_logical_shards() and remove_logical_shards() call it.';

revoke execute on function shardflake._set_logical_shards(integer[]) from public;
