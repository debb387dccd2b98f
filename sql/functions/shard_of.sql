-- Returns the shard id in an id.
create function shardflake.shard_of(p_id bigint) returns integer
language sql immutable strict parallel safe
return ((p_id >> 10) & 8191)::integer;

comment on function shardflake.shard_of(bigint) is
  'Shard id in an id, 0 to 8191. Inlined and unchecked: p_id is taken to be an id, 0 or more.';
