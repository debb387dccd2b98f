-- Returns the counter in an id.
create function shardflake.counter_of(p_id bigint) returns integer
language sql immutable strict parallel safe
return (p_id & 1023)::integer;

comment on function shardflake.counter_of(bigint) is
  'Counter in an id, 0 to 1023 within its millisecond. Inlined and unchecked: p_id is taken to be an id, 0 or more.';
