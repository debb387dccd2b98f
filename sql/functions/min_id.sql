-- Returns the smallest id of a time's tick, for half-open ranges: id >= min_id(a) and id < min_id(b).
create function shardflake.min_id(p_time timestamptz) returns bigint
language sql immutable strict parallel safe
return shardflake._tick_at(p_time) << shardflake._id_time_shift();

comment on function shardflake.min_id(timestamptz) is
  'Smallest id of the tick of p_time. Ranges: id >= min_id(from) AND id < min_id(until). SF011 outside the time field.';
