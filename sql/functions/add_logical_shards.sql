-- Lets this database issue ids of further shards; of one that another database has issued before, above every id of its.
-- The window is moved in _open_window()'s order, under the same lock: mark, flush, window.
create function shardflake.add_logical_shards(p_shards integer[], above_id bigint default null) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bad integer;
  v_floor constant bigint := above_id >> shardflake._time_shift();
  v_mark bigint;
  v_peak bigint;
begin
  select s into v_bad from unnest(p_shards) as s where s is null or s < 0 or s >> shardflake._shard_bits() > 0 limit 1;
  if found then
    raise exception 'logical shard id % is not between 0 and %', coalesce(v_bad::text, 'NULL'), (1 << shardflake._shard_bits()) - 1 using
      errcode = 'SF007', hint = format('Choose ids from 0 to %s that no other database uses.', (1 << shardflake._shard_bits()) - 1);
  end if;
  perform pg_advisory_xact_lock('shardflake._window'::regclass::oid::integer, 1936287346);
  perform coalesce(shardflake.shard_id(), shardflake._no_shard());
  perform shardflake._check_free_shards(p_shards);
  if pg_relation_filepath('shardflake._window') is distinct from shardflake._window_file() then
    raise exception 'the generator of shard % in database "%" is a copy or was altered', shardflake.shard_id(), current_database() using
      errcode = 'SF002', hint = 'If this database is to go on as this shard and no other does, run SELECT * FROM shardflake.confirm_identity().';
  end if;
  if v_floor > shardflake._tick() + greatest(shardflake._ticks(shardflake._max_lead()), shardflake._span()) then
    raise exception 'the ids of shard % lie % ms ahead of the clock here', p_shards[1], (v_floor - shardflake._tick()) * shardflake._tick_ms() using
      errcode = 'SF005', hint = 'Let the clock here catch up, or set it right, then try again.';
  end if;
  v_mark := pg_sequence_last_value('shardflake._high_water');
  if v_floor > v_mark or v_mark is null then
    perform setval('shardflake._high_water', greatest(v_floor, v_mark));
    perform shardflake._flush_wal();  -- before the window: after a crash nothing but the mark is left
  end if;
  if v_floor >= coalesce(pg_sequence_last_value('shardflake._window'), 0) >> shardflake._window_bits()
     and pg_sequence_last_value('shardflake._incarnation') is not distinct from (date_part('epoch', pg_postmaster_start_time()) * 1000000)::bigint then
    v_peak := coalesce(pg_sequence_last_value('shardflake._peak'), 0);
    perform setval('shardflake._window', v_floor << shardflake._window_bits() | ((1 << shardflake._counter_bits()) - 1));  -- the last of its draws: the next one overflows and opens a window
    perform setval('shardflake._opened', v_floor);
    perform shardflake._open_window(1);
    perform setval('shardflake._peak', v_peak);  -- it took the full counter for draws
  end if;
  perform shardflake._set_logical_shards(shardflake._logical_shards() || p_shards);
end $$;

comment on function shardflake.add_logical_shards(integer[], bigint) is
  'Lets this database issue ids of further shards (0 to 8191 in the default layout). above_id: last_id_bound() of a database that has issued them before and no longer does; ids here lie above. SF005 if that is too far ahead of the clock here.';

revoke execute on function shardflake.add_logical_shards(integer[], bigint) from public;
