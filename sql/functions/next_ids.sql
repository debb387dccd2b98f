-- Returns p_count ids in ascending order, claiming whole windows at one pass through the slow path.
-- Below a quarter of one (256 ids in the default layout) a window of their own would waste more of the millisecond than drawing them one by one costs.
create function shardflake.next_ids(p_count integer) returns setof bigint
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_shard constant bigint := coalesce(shardflake.shard_id(), shardflake._no_shard())::bigint << shardflake._shard_shift();
  v_first bigint;
begin
  if p_count between 1 and (1 << shardflake._counter_bits()) / 4 - 1 then
    return query select shardflake.next_id() from generate_series(1, p_count);
    return;
  end if;
  v_first := shardflake._open_window(p_count) | v_shard;
  return query  -- a row per window, each spread into its ids or what is left of p_count: no tuplestore, no arithmetic per id
    select generate_series(w, w + (least((1::bigint << shardflake._counter_bits()) - 1,
                                         p_count - 1 - (((w - v_first) >> shardflake._time_shift()) << shardflake._counter_bits()))
                                   << shardflake._counter_shift()),
                           1::bigint << shardflake._counter_shift())
      from generate_series(v_first, v_first + (((p_count - 1) >> shardflake._counter_bits())::bigint << shardflake._time_shift()),
                           1::bigint << shardflake._time_shift()) as w;
end $$;

comment on function shardflake.next_ids(integer) is
  'p_count ids in ascending order; a thousand cost about as much as one. At most 100 ms of them (102400 in the default layout), else SF010.';

revoke execute on function shardflake.next_ids(integer) from public;
