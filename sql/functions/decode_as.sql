-- Returns the three parts of an id of any named layout, whatever layout this database has; refuses a number that is none.
create function shardflake.decode(p_id bigint, layout text, out "time" timestamptz, out shard integer, out counter integer)
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_layout constant record := shardflake._preset(layout);
  v_shift constant integer := v_layout.shard_bits + v_layout.counter_bits;
begin
  if p_id >> (v_layout.time_bits + v_shift) <> 0 then
    raise exception '% is not an id of layout %', p_id, v_layout.label using
      errcode = 'SF011', hint = format('Its ids are 0 to %s.', (((1::bigint << v_layout.time_bits) - 1) << v_shift) + ((1::bigint << v_shift) - 1));
  end if;
  time := to_timestamp(((p_id >> v_shift) * v_layout.tick_ms + v_layout.epoch) / 1000.0::double precision);
  shard := (p_id >> case when v_layout.counter_first then 0 else v_layout.counter_bits end) & ((1 << v_layout.shard_bits) - 1);
  counter := (p_id >> case when v_layout.counter_first then v_layout.shard_bits else 0 end) & ((1 << v_layout.counter_bits) - 1);
end $$;

comment on function shardflake.decode(bigint, text) is
  'Time (to the tick), shard and counter of an id of layout shardflake, twitter, discord, sonyflake, instagram or javascript; SF011 for a number that is none, SF014 for another layout.';
