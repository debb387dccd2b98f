-- Returns the counter in an id.
create function shardflake.counter_of(p_id bigint) returns integer
language sql immutable strict parallel safe
return ((p_id >> shardflake._id_counter_shift()) & ((1::bigint << shardflake._id_counter_bits()) - 1))::integer;

comment on function shardflake.counter_of(bigint) is
  'Counter in an id, 0 to 1023 within its millisecond in the default layout. Inlined and unchecked: p_id is taken to be an id, 0 or more.';
