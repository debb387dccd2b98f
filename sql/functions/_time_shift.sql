-- Says how far the tick is shifted in an id. A constant of this shard, written by _set_layout().
create function shardflake._time_shift() returns integer
language sql stable parallel safe
return 23;

comment on function shardflake._time_shift() is
  'Bits of an id below the time. Replaced by shardflake._set_layout().';

revoke execute on function shardflake._time_shift() from public;
