-- Says how long a tick lasts, in milliseconds. A constant of this shard, written by _set_layout().
-- STABLE, like every constant that the generator reads: plans made before the layout was set must not outlive it.
create function shardflake._tick_ms() returns integer
language sql stable parallel safe
return 1;

comment on function shardflake._tick_ms() is
  'Length of a tick, ms. Replaced by shardflake._set_layout().';

revoke execute on function shardflake._tick_ms() from public;
