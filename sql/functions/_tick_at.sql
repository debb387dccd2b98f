-- Returns the tick that a time falls into, exactly; refuses a time that ids cannot hold.
-- extract() is numeric, so no time near a millisecond's edge is off by one; at time zone 'UTC' makes it immutable.
create function shardflake._tick_at(p_time timestamptz) returns bigint
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tick constant numeric := floor((floor(extract(epoch from p_time at time zone 'UTC') * 1000) - shardflake.epoch_ms()) / shardflake._id_tick_ms());
begin
  if v_tick between 0 and (1::bigint << shardflake._id_time_bits()) - 1 then
    return v_tick;
  end if;
  raise exception 'no id can hold the time %', p_time using
    errcode = 'SF011',
    hint = format('Ids hold times from %s to %s.', shardflake.timestamp_of(0), 
                  shardflake.timestamp_of(((1::bigint << shardflake._id_time_bits()) - 1) << shardflake._id_time_shift()));
end $$;

comment on function shardflake._tick_at(timestamptz) is
  'Ticks from the epoch to p_time, rounded down; SF011 for a time outside the time field.';
