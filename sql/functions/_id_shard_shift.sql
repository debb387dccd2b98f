-- Says how far the shard id in an id is shifted. Written by _set_layout().
-- IMMUTABLE, as functions that read ids are: it is fixed when the shard id is assigned, and never changes afterwards.
create function shardflake._id_shard_shift() returns integer
language sql immutable strict parallel safe
return 10;

comment on function shardflake._id_shard_shift() is
  'Bits below the shard id in this databases ids. Replaced by shardflake._set_layout().';
