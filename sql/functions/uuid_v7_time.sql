-- Returns the time of a UUIDv7, to the millisecond; refuses a UUID of another version or variant, which has no such time.
create function shardflake.uuid_v7_time(p_id uuid) returns timestamptz
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if substr(p_id::text, 20, 1) not in ('8', '9', 'a', 'b') then
    raise exception '% is a UUID of variant %, which has no version; RFC 9562 has variant 10', p_id, ('x' || substr(p_id::text, 20, 1))::bit(2) using
      errcode = 'SF011', hint = 'Only a UUID of version 7 has a time to read here.';
  end if;
  if substr(p_id::text, 15, 1) <> '7' then
    raise exception '% is a UUID of version %, not 7', p_id, ('x0' || substr(p_id::text, 15, 1))::bit(8)::integer using
      errcode = 'SF011', hint = 'Only a UUID of version 7 has a time to read here.';
  end if;
  return shardflake._time_of_unix_ms(('x' || left(p_id::text, 8) || substr(p_id::text, 10, 4))::bit(48)::bigint);
end $$;

comment on function shardflake.uuid_v7_time(uuid) is
  'Time of a UUIDv7, to the millisecond. SF011 for a UUID of another version or variant.';
