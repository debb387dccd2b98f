-- Says which draw is the smallest that the fast path takes now: the start of a tick some 8 ms ago.
-- The tick is found in one rounding cast less half a tick, which saves a floor() and two subtractions an id.
-- VOLATILE, as it reads the clock; written by _set_layout(), with the layout's numbers in it.
create function shardflake._due() returns bigint
language sql volatile parallel safe
return (date_part('epoch', clock_timestamp()) * 1000 - 1735689600008.5::double precision)::bigint << 23;

comment on function shardflake._due() is
  'The smallest draw that the fast path takes now. Replaced by shardflake._set_layout().';

revoke execute on function shardflake._due() from public;
