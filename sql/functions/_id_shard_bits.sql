-- Says how wide the shard id in an id is. Written by _set_layout().
-- IMMUTABLE, as functions that read ids are: it is fixed when the shard id is assigned, and never changes afterwards.
create function shardflake._id_shard_bits() returns integer
language sql immutable strict parallel safe
return 13;

comment on function shardflake._id_shard_bits() is
  'Bits of the shard id in this databases ids. Replaced by shardflake._set_layout().';
