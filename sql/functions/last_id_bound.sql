-- Returns a number that no id issued here so far exceeds: the last draw, or after a restart the mark.
create function shardflake.last_id_bound() returns bigint
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tick bigint;
begin
  perform pg_advisory_xact_lock('shardflake._window'::regclass::oid::integer, 1936287346);
  v_tick := pg_sequence_last_value('shardflake._window') >> shardflake._window_bits();
  if v_tick is null or pg_relation_filepath('shardflake._window') is distinct from shardflake._window_file()
     or pg_sequence_last_value('shardflake._incarnation') is distinct from (date_part('epoch', pg_postmaster_start_time()) * 1000000)::bigint then
    v_tick := pg_sequence_last_value('shardflake._high_water');
  end if;
  if v_tick is null then
    raise exception 'the high-water mark of shard % cannot be read', shardflake.shard_id() using
      errcode = 'SF003', hint = 'Restore the sequence shardflake._high_water, then run SELECT * FROM shardflake.confirm_identity().';
  end if;
  return ((v_tick + 1) << shardflake._time_shift()) - 1;
end $$;

comment on function shardflake.last_id_bound() is
  'A number that no id issued here so far exceeds; for add_logical_shards() of the database that issues ids of a shard next.';

revoke execute on function shardflake.last_id_bound() from public;
