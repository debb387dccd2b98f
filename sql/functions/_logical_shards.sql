-- Lists the shard ids that this database may issue. A constant of this shard, replaced by assign_shard().
create function shardflake._logical_shards() returns integer[]
language sql stable parallel safe
return '{}'::integer[];

comment on function shardflake._logical_shards() is
  'Shard ids this database may issue: its own and those of its logical shards. Replaced by shardflake.assign_shard().';

revoke execute on function shardflake._logical_shards() from public;
