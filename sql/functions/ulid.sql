-- Returns a ULID that is larger than the last one of this session, whatever the clock does: 48 bits of milliseconds, 80 random ones,
-- which count up by one within a millisecond, and after the clock was set back, as the format has it.
-- The last one is kept in a setting, as by uuid_v7(): milliseconds, and the higher and lower 40 bits.
create function shardflake.ulid() returns text
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last constant bigint[] := nullif(current_setting('shardflake._ulid', true), '');
  v_ms bigint := shardflake._unix_us() / 1000;
  v_high bigint;
  v_low bigint;
begin
  if v_last is null or v_ms > v_last[1] then
    declare
      v_random constant text := replace(gen_random_uuid()::text, '-', '');
    begin  -- neither half holds the version or the variant
      v_high := ('x' || left(v_random, 10))::bit(40)::bigint;
      v_low := ('x' || right(v_random, 10))::bit(40)::bigint;
    end;
  else
    v_ms := v_last[1];
    v_low := (v_last[3] + 1) & ((1::bigint << 40) - 1);
    v_high := v_last[2] + (v_low = 0)::integer;
    if v_high >> 40 > 0 then
      raise exception 'no ULID of the millisecond % is left', v_ms using errcode = 'SF005', hint = 'Try again in the next one.';
    end if;
  end if;
  perform set_config('shardflake._ulid', format('{%s,%s,%s}', v_ms, v_high, v_low), false);
  return right(shardflake._base32(v_ms >> 40), 2) || shardflake._base32(v_ms) || shardflake._base32(v_high) || shardflake._base32(v_low);
end $$;

comment on function shardflake.ulid() is
  'A ULID, larger than every one that this session drew and did not roll back. A fallback where an application does not make them; a uuid column takes ulid_to_uuid(ulid()). SF005 once the random bits of a millisecond are counted to their end.';
