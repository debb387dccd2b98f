-- Says whether a draw is near the clock and its counter has not overflowed: less the smallest draw due, the start of a tick some 8 ms
-- ago, it has no bit outside the span's ticks and the counter. In the default layout it is at most 8 ms behind the clock and 119 ms ahead.
-- The tick is found in one rounding cast less half a tick, which saves a floor() and two subtractions an id.
-- VOLATILE, as it reads the clock; written by _set_layout(), with the layout's numbers in it: the planner inlines one function, not four.
create function shardflake._is_due(p_draw bigint) returns boolean
language sql volatile parallel safe
return (p_draw - ((date_part('epoch', clock_timestamp()) * 1000 - 1735689600008.5::double precision)::bigint << 23)) & ~((127::bigint << 23) | 1023) = 0;

comment on function shardflake._is_due(bigint) is
  'Whether the fast path takes draw p_draw now. Replaced by shardflake._set_layout().';

revoke execute on function shardflake._is_due(bigint) from public;
