-- Returns one draw that is nobody else's, as an id of shard 0: the fast path of the generator, one expression that the planner inlines.
-- The file is looked at when the expression is planned, not for every id: see _is_window_file().
create function shardflake._draw() returns bigint
language sql volatile parallel unsafe
return case
  when shardflake._is_window_file(shardflake._window_file()) and shardflake._is_due(nextval('shardflake._window'::regclass))
  then shardflake._last_draw()
  else shardflake._open_window(1)
end;

comment on function shardflake._draw() is
  'One draw, as an id whose shard id is 0. Private: next_id() puts the shard id into it.';

revoke execute on function shardflake._draw() from public;
