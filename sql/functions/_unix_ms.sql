-- Returns the millisecond that a time falls into, since 1970; refuses a time that the 48 bits of a UUIDv7 and a ULID cannot hold.
create function shardflake._unix_ms(p_time timestamptz) returns bigint
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ms constant numeric := floor(extract(epoch from p_time at time zone 'UTC') * 1000);
begin
  if v_ms between 0 and (1::bigint << 48) - 1 then
    return v_ms;
  end if;
  raise exception 'no UUIDv7 and no ULID can hold the time %', p_time using
    errcode = 'SF011',
    hint = format('They hold times from %s to %s.', shardflake._time_of_unix_ms(0), shardflake._time_of_unix_ms((1::bigint << 48) - 1));
end $$;

comment on function shardflake._unix_ms(timestamptz) is
  'Milliseconds from 1970 to p_time, rounded down; SF011 for a time that 48 bits cannot hold.';
