-- Returns the tick that a time falls into, exactly; refuses a time that ids cannot hold.
-- extract() is numeric, so no time near a millisecond's edge is off by one; at time zone 'UTC' makes it immutable.
create function shardflake._tick_at(p_time timestamptz) returns bigint
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ms constant numeric := floor(extract(epoch from p_time at time zone 'UTC') * 1000) - shardflake.epoch_ms();
begin
  if v_ms between 0 and 1099511627775 then
    return v_ms;
  end if;
  raise exception 'no id can hold the time %', p_time using
    errcode = 'SF011',
    hint = format('Ids hold times from %s to %s.', shardflake.timestamp_of(0), shardflake.timestamp_of(9223372036854775807));
end $$;

comment on function shardflake._tick_at(timestamptz) is
  'Milliseconds from the epoch to p_time, rounded down; SF011 for a time outside the 40-bit field.';
