-- Returns the id with the given parts; refuses a part that does not fit, so that none spills into another.
create function shardflake.make_id(p_time timestamptz, p_shard integer, p_counter integer) returns bigint
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_shard not between 0 and (1 << shardflake._id_shard_bits()) - 1 then
    raise exception 'shard id % does not fit', p_shard using errcode = 'SF011', hint = format('Shard ids are 0 to %s.', (1 << shardflake._id_shard_bits()) - 1);
  end if;
  if p_counter not between 0 and (1 << shardflake._id_counter_bits()) - 1 then
    raise exception 'counter % does not fit', p_counter using errcode = 'SF011', hint = format('Counters are 0 to %s.', (1 << shardflake._id_counter_bits()) - 1);
  end if;
  return (shardflake._tick_at(p_time) << shardflake._id_time_shift()) | (p_shard::bigint << shardflake._id_shard_shift())
         | (p_counter::bigint << shardflake._id_counter_shift());
end $$;

comment on function shardflake.make_id(timestamptz, integer, integer) is
  'The id with this time (rounded down to the tick), shard and counter (0 to 8191 and 0 to 1023 in the default layout); else SF011.';
