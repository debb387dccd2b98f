-- Returns an id of a logical shard that this database owns. All of them share one window: ids of one shard ascend, those of
-- several do so from millisecond to millisecond.
create function shardflake.next_id(p_shard integer) returns bigint
language sql volatile parallel unsafe
return (case when p_shard = any (shardflake._logical_shards()) then p_shard else shardflake._refuse_shard(p_shard) end::bigint << shardflake._shard_shift())
       | shardflake._draw();

comment on function shardflake.next_id(integer) is
  'One id of logical shard p_shard, which this database must own; else SF009. Otherwise as shardflake.next_id().';

revoke execute on function shardflake.next_id(integer) from public;
