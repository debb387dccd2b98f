-- Reads the clock in the unit of an id. floor, never a rounding cast: a tick must not begin before its millisecond does.
create function shardflake._tick() returns bigint
language sql volatile parallel safe
return floor(date_part('epoch', clock_timestamp()) * 1000)::bigint - shardflake.epoch_ms();

comment on function shardflake._tick() is
  'The clock now: milliseconds since shardflake.epoch_ms().';

revoke execute on function shardflake._tick() from public;
