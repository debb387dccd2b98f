-- Returns one draw that is nobody else's, as an id of shard 0: the fast path of the generator, one expression that the planner inlines.
-- The draw less the smallest one due has no bit outside the span's ticks and the counter exactly if its tick is near the clock
-- (in the default layout at most 8 ms behind it and 119 ms ahead) and its counter has not overflowed.
-- currval() repeats the session's own draw; where the fields stand in another order, or closer, it is taken apart as _place() does,
-- which the planner could not inline around a volatile argument. In a plain layout all of that folds to one currval().
-- The file is looked at when the expression is planned, not for every id: see _is_window_file().
create function shardflake._draw() returns bigint
language sql volatile parallel unsafe
return case
  when shardflake._is_window_file(shardflake._window_file())
   and (nextval('shardflake._window'::regclass) - shardflake._due()) & shardflake._void_bits() = 0
  then case
    when shardflake._plain() then currval('shardflake._window'::regclass)
    else ((currval('shardflake._window'::regclass) >> shardflake._window_bits()) << shardflake._time_shift())
         | ((currval('shardflake._window'::regclass) & ((1::bigint << shardflake._counter_bits()) - 1)) << shardflake._counter_shift())
  end
  else shardflake._open_window(1)
end;

comment on function shardflake._draw() is
  'One draw, as an id whose shard id is 0. Private: next_id() puts the shard id into it.';

revoke execute on function shardflake._draw() from public;
