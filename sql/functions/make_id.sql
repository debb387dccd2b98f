-- Returns the id with the given parts; refuses a part that does not fit, so that none spills into another.
create function shardflake.make_id(p_time timestamptz, p_shard integer, p_counter integer) returns bigint
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_shard not between 0 and 8191 then
    raise exception 'shard id % does not fit', p_shard using errcode = 'SF011', hint = 'Shard ids are 0 to 8191.';
  end if;
  if p_counter not between 0 and 1023 then
    raise exception 'counter % does not fit', p_counter using errcode = 'SF011', hint = 'Counters are 0 to 1023.';
  end if;
  return (shardflake._tick_at(p_time) << 23) | (p_shard::bigint << 10) | p_counter;
end $$;

comment on function shardflake.make_id(timestamptz, integer, integer) is
  'The id with this time (rounded down to the millisecond), shard 0 to 8191 and counter 0 to 1023; else SF011.';
