-- Returns how many ticks so many milliseconds are, rounded up: a margin in time never gets shorter by it.
create function shardflake._ticks(p_ms bigint) returns bigint
language sql stable parallel safe
return (p_ms + shardflake._tick_ms() - 1) / shardflake._tick_ms();

comment on function shardflake._ticks(bigint) is
  'Ticks in p_ms milliseconds, rounded up.';

revoke execute on function shardflake._ticks(bigint) from public;
