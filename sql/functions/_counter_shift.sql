-- Says how far the counter is shifted in an id: above 0 where it stands above the shard id. A constant of this shard, written by _set_layout().
create function shardflake._counter_shift() returns integer
language sql stable parallel safe
return 0;

comment on function shardflake._counter_shift() is
  'Bits of an id below the counter. Replaced by shardflake._set_layout().';

revoke execute on function shardflake._counter_shift() from public;
