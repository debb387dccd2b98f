-- Says how far the counter in an id is shifted. Written by _set_layout().
-- IMMUTABLE, as functions that read ids are: it is fixed when the shard id is assigned, and never changes afterwards.
create function shardflake._id_counter_shift() returns integer
language sql immutable strict parallel safe
return 0;

comment on function shardflake._id_counter_shift() is
  'Bits below the counter in this databases ids. Replaced by shardflake._set_layout().';
