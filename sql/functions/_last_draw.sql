-- Returns the session's own last draw as an id of shard 0: as it stands where the fields are in order and as wide as the window's;
-- else taken apart as _place() does, which the planner could not inline around a volatile argument. Written by _set_layout().
create function shardflake._last_draw() returns bigint
language sql volatile parallel unsafe
return currval('shardflake._window'::regclass);

comment on function shardflake._last_draw() is
  'The last draw of this session, as an id whose shard id is 0. Replaced by shardflake._set_layout().';

revoke execute on function shardflake._last_draw() from public;
