-- Returns the time of an id, to the tick: a millisecond, unless the layout has longer ones. Exact: a double holds these milliseconds with room to spare.
create function shardflake.timestamp_of(p_id bigint) returns timestamptz
language sql immutable strict parallel safe
return to_timestamp(((p_id >> shardflake._id_time_shift()) * shardflake._id_tick_ms() + shardflake.epoch_ms()) / 1000.0::double precision);

comment on function shardflake.timestamp_of(bigint) is
  'Time of an id, to the tick. Inlined and unchecked: p_id is taken to be an id, 0 or more.';
