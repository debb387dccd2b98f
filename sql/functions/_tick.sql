-- Reads the clock in the unit of an id. floor, never a rounding cast: a tick must not begin before its millisecond does.
-- Written by _set_layout(), with the layout's numbers in it.
create function shardflake._tick() returns bigint
language sql volatile parallel safe
return (floor(date_part('epoch', clock_timestamp()) * 1000)::bigint - 1735689600000) / 1;

comment on function shardflake._tick() is
  'The clock now: ticks since the epoch. Replaced by shardflake._set_layout().';

revoke execute on function shardflake._tick() from public;
