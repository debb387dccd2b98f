-- Returns the largest id of a time's tick, for closed bounds such as "up to and including".
create function shardflake.max_id(p_time timestamptz) returns bigint
language sql immutable strict parallel safe
return (shardflake._tick_at(p_time) << shardflake._id_time_shift()) | ((1::bigint << shardflake._id_time_shift()) - 1);

comment on function shardflake.max_id(timestamptz) is
  'Largest id of the tick of p_time. SF011 outside the time field.';
