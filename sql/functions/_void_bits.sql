-- Says which bits of a draw, less shardflake._due(), must be 0: all but those of the span's ticks and of the counter. A constant of this shard, written by _set_layout().
create function shardflake._void_bits() returns bigint
language sql stable parallel safe
return ~((127::bigint << 23) | 1023);

comment on function shardflake._void_bits() is
  'Bits that must be 0 in a draw less shardflake._due(). Replaced by shardflake._set_layout().';

revoke execute on function shardflake._void_bits() from public;
