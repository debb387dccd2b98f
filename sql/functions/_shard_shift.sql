-- Says how far the shard id is shifted in an id. A constant of this shard, written by _set_layout().
create function shardflake._shard_shift() returns integer
language sql stable parallel safe
return 10;

comment on function shardflake._shard_shift() is
  'Bits of an id below the shard id. Replaced by shardflake._set_layout().';

revoke execute on function shardflake._shard_shift() from public;
