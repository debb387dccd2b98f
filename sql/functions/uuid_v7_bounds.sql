-- Returns the bounds of the UUIDv7 of a half-open time range, rounded down to the millisecond: id >= low and id < high.
create function shardflake.uuid_v7_bounds(p_from timestamptz, p_until timestamptz, out low uuid, out high uuid)
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_from constant bigint := shardflake._unix_ms(p_from);
  v_until constant bigint := shardflake._unix_ms(p_until);
begin
  if v_until < v_from then
    raise exception 'the range ends at %, before it starts at %', p_until, p_from using
      errcode = 'SF011', hint = 'Give the start first; both are rounded down to the millisecond.';
  end if;
  low := lpad(to_hex(v_from), 12, '0') || '70008000000000000000';
  high := lpad(to_hex(v_until), 12, '0') || '70008000000000000000';
end $$;

comment on function shardflake.uuid_v7_bounds(timestamptz, timestamptz) is
  'Bounds of the UUIDv7 of a half-open time range: id >= (…).low AND id < (…).high. SF011 for times before 1970 or past 48 bits of milliseconds, and for an end before the start.';
