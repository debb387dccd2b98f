-- Says how wide the shard id is. A constant of this shard, written by _set_layout().
create function shardflake._shard_bits() returns integer
language sql stable parallel safe
return 13;

comment on function shardflake._shard_bits() is
  'Bits of the shard id. Replaced by shardflake._set_layout().';

revoke execute on function shardflake._shard_bits() from public;
