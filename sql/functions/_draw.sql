-- Returns one draw that is nobody else's: the fast path of the generator, one expression that the planner inlines.
-- The draw less the clock's window, 8 ms back, has no bit outside 127 << 23 | 1023 exactly if the draw is at most 8 ms behind
-- the clock, at most 119 ms ahead of it, and its counter has not overflowed. currval() repeats the session's own draw.
-- The file is looked at when the expression is planned, not for every id: see _is_window_file().
-- The clock is _tick() - 8 in one rounding cast less half a millisecond, which saves a floor() and two subtractions an id.
create function shardflake._draw() returns bigint
language sql volatile parallel unsafe
return case
  when shardflake._is_window_file(shardflake._window_file())
   and (nextval('shardflake._window'::regclass)
         - ((date_part('epoch', clock_timestamp()) * 1000 - (shardflake.epoch_ms()::double precision + 8.5))::bigint << 23))
        & ~((127 << 23) | 1023)::bigint = 0
  then currval('shardflake._window'::regclass)
  else shardflake._open_window(1)
end;

comment on function shardflake._draw() is
  'One draw, tick << 23 | counter. Private: next_id() puts the shard id into it.';

revoke execute on function shardflake._draw() from public;
