-- Returns the largest id of a time's millisecond, for closed bounds such as "up to and including".
create function shardflake.max_id(p_time timestamptz) returns bigint
language sql immutable strict parallel safe
return (shardflake._tick_at(p_time) << 23) | 8388607;

comment on function shardflake.max_id(timestamptz) is
  'Largest id of the millisecond of p_time. SF011 outside the time field.';
