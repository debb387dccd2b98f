-- Says where the time of an id starts. Written by _set_layout().
-- IMMUTABLE, as functions that read ids are: it is fixed when the shard id is assigned, and never changes afterwards.
create function shardflake.epoch_ms() returns bigint
language sql immutable strict parallel safe
return 1735689600000;

comment on function shardflake.epoch_ms() is
  'Start of the time field, ms since 1970; 2025-01-01 00:00:00 UTC in the default layout. Replaced by shardflake._set_layout().';
