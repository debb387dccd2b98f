-- Says where the time of an id starts. IMMUTABLE: it never changes once an id exists.
create function shardflake.epoch_ms() returns bigint
language sql immutable strict parallel safe
return 1735689600000;

comment on function shardflake.epoch_ms() is
  'Start of the time field, ms since 1970: 2025-01-01 00:00:00 UTC.';
