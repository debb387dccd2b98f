-- Reads the clock in microseconds since 1970. A double holds these seconds to less than half a microsecond until 2106, so the cast rounds to the exact one.
create function shardflake._unix_us() returns bigint
language sql volatile parallel safe
return (date_part('epoch', clock_timestamp()) * 1000000)::bigint;

comment on function shardflake._unix_us() is
  'The clock now: microseconds since 1970.';
