-- Returns the smallest id of a time's tick in any named layout, whatever layout this database has.
create function shardflake.min_id(p_time timestamptz, layout text) returns bigint
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_layout constant record := shardflake._preset(layout);
  v_shift constant integer := v_layout.shard_bits + v_layout.counter_bits;
  v_tick constant numeric := floor((floor(extract(epoch from p_time at time zone 'UTC') * 1000) - v_layout.epoch) / v_layout.tick_ms);
begin
  if v_tick between 0 and (1::bigint << v_layout.time_bits) - 1 then
    return v_tick::bigint << v_shift;
  end if;
  raise exception 'no id of layout % can hold the time %', v_layout.label, p_time using
    errcode = 'SF011',
    hint = format('Its ids hold times from %s to %s.', to_timestamp(v_layout.epoch / 1000.0),
                  to_timestamp((((1::bigint << v_layout.time_bits) - 1) * v_layout.tick_ms + v_layout.epoch) / 1000.0));
end $$;

comment on function shardflake.min_id(timestamptz, text) is
  'Smallest id of the tick of p_time in layout shardflake, twitter, discord, sonyflake, instagram or javascript. SF011 outside its time field, SF014 for another layout.';
