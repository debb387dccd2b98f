-- Says how many ticks the fast path takes, from a few behind the clock to the rest ahead of it: one less than a power of two.
-- 127 ms, or as much of it as such a number of ticks holds, but at least 3 ticks. A constant of this shard, written by _set_layout().
create function shardflake._span() returns integer
language sql stable parallel safe
return 127;

comment on function shardflake._span() is
  'Ticks that the fast path takes, less one. Replaced by shardflake._set_layout().';

revoke execute on function shardflake._span() from public;
