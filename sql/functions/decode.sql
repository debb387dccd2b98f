-- Returns the three parts of an id; refuses a number that is none.
create function shardflake.decode(p_id bigint, out "time" timestamptz, out shard integer, out counter integer)
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_id >> (shardflake._id_time_bits() + shardflake._id_time_shift()) <> 0 then
    raise exception '% is not an id: ids are 0 to %', p_id,
      (((1::bigint << shardflake._id_time_bits()) - 1) << shardflake._id_time_shift()) + ((1::bigint << shardflake._id_time_shift()) - 1) using
      errcode = 'SF011', hint = 'Check where the number comes from; no id was ever negative.';
  end if;
  time := shardflake.timestamp_of(p_id);
  shard := shardflake.shard_of(p_id);
  counter := shardflake.counter_of(p_id);
end $$;

comment on function shardflake.decode(bigint) is
  'Time (to the tick), shard and counter of an id; SF011 for a number that is none.';
