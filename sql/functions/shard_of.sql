-- Returns the shard id in an id.
create function shardflake.shard_of(p_id bigint) returns integer
language sql immutable strict parallel safe
return ((p_id >> shardflake._id_shard_shift()) & ((1::bigint << shardflake._id_shard_bits()) - 1))::integer;

comment on function shardflake.shard_of(bigint) is
  'Shard id in an id, 0 to 8191 in the default layout. Inlined and unchecked: p_id is taken to be an id, 0 or more.';
