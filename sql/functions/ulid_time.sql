-- Returns the time of a ULID, to the millisecond; refuses a text that is none.
create function shardflake.ulid_time(p_ulid text) returns timestamptz
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_uuid constant text := shardflake.ulid_to_uuid(p_ulid);
begin
  return shardflake._time_of_unix_ms(('x' || left(v_uuid, 8) || substr(v_uuid, 10, 4))::bit(48)::bigint);
end $$;

comment on function shardflake.ulid_time(text) is
  'Time of a ULID, to the millisecond. SF011 for a text that is none.';
