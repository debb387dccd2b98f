-- Returns the largest id of a time's tick in any named layout, whatever layout this database has.
create function shardflake.max_id(p_time timestamptz, layout text) returns bigint
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_layout constant record := shardflake._preset(layout);
begin
  return shardflake.min_id(p_time, layout) + ((1::bigint << (v_layout.shard_bits + v_layout.counter_bits)) - 1);
end $$;

comment on function shardflake.max_id(timestamptz, text) is
  'Largest id of the tick of p_time in layout shardflake, twitter, discord, sonyflake, instagram or javascript. SF011 outside its time field, SF014 for another layout.';
