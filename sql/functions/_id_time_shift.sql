-- Says how far the time of an id is shifted. Written by _set_layout().
-- IMMUTABLE, as functions that read ids are: it is fixed when the shard id is assigned, and never changes afterwards.
create function shardflake._id_time_shift() returns integer
language sql immutable strict parallel safe
return 23;

comment on function shardflake._id_time_shift() is
  'Bits below the time in this databases ids. Replaced by shardflake._set_layout().';
