-- Returns the time of a count of milliseconds since 1970. Seconds and the rest apart: as one double, the last years would be off by microseconds.
create function shardflake._time_of_unix_ms(p_ms bigint) returns timestamptz
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return to_timestamp(p_ms / 1000) + (p_ms % 1000) * interval '1 millisecond';
end $$;

comment on function shardflake._time_of_unix_ms(bigint) is
  'The time p_ms milliseconds after 1970, exactly.';
