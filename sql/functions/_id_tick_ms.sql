-- Says how long a tick of an id lasts, in milliseconds. Written by _set_layout().
-- IMMUTABLE, as functions that read ids are: it is fixed when the shard id is assigned, and never changes afterwards.
create function shardflake._id_tick_ms() returns integer
language sql immutable strict parallel safe
return 1;

comment on function shardflake._id_tick_ms() is
  'Length of a tick of this databases ids, ms. Replaced by shardflake._set_layout().';
