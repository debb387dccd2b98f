-- Says how wide the counter is: a window has 2^n ids. A constant of this shard, written by _set_layout().
create function shardflake._counter_bits() returns integer
language sql stable parallel safe
return 10;

comment on function shardflake._counter_bits() is
  'Bits of the counter. Replaced by shardflake._set_layout().';

revoke execute on function shardflake._counter_bits() from public;
