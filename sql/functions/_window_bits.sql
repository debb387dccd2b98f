-- Says how many bits of _window are below the tick: 63 less those of the time, however few the id itself uses.
-- The room above the counter keeps overflowing draws out of the next window, at least 2^21 of them in every layout.
-- A constant of this shard, written by _set_layout().
create function shardflake._window_bits() returns integer
language sql stable parallel safe
return 23;

comment on function shardflake._window_bits() is
  'Bits of shardflake._window below the tick. Replaced by shardflake._set_layout().';

revoke execute on function shardflake._window_bits() from public;
