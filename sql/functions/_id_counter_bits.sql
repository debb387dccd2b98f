-- Says how wide the counter in an id is. Written by _set_layout().
-- IMMUTABLE, as functions that read ids are: it is fixed when the shard id is assigned, and never changes afterwards.
create function shardflake._id_counter_bits() returns integer
language sql immutable strict parallel safe
return 10;

comment on function shardflake._id_counter_bits() is
  'Bits of the counter in this databases ids. Replaced by shardflake._set_layout().';
