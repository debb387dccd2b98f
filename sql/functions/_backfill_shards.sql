-- Lists the shard ids that are reserved for imported rows. A constant of this shard, replaced by reserve_backfill_shards().
create function shardflake._backfill_shards() returns integer[]
language sql stable parallel safe
return '{}'::integer[];

comment on function shardflake._backfill_shards() is
  'Shard ids reserved for the ids of imported rows, of which no generator here may issue ids. Replaced by shardflake.reserve_backfill_shards().';

revoke execute on function shardflake._backfill_shards() from public;
