-- Returns p_count ids in ascending order, claiming whole windows of 1,024 at one pass through the slow path.
-- Below 256 ids a window of their own would waste more of the millisecond than drawing them one by one costs.
create function shardflake.next_ids(p_count integer) returns setof bigint
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_shard constant bigint := coalesce(shardflake.shard_id(), shardflake._no_shard()) << 10;
  v_first bigint;
begin
  if p_count between 1 and 255 then
    return query select shardflake.next_id() from generate_series(1, p_count);
    return;
  end if;
  v_first := shardflake._open_window(p_count) | v_shard;
  return query  -- a row per window, 2^23 apart, each spread into its 1,024 ids or what is left of p_count: no tuplestore, no arithmetic per id
    select generate_series(w, w + least(1023, p_count - 1 - ((w - v_first) >> 23) * 1024))
      from generate_series(v_first, v_first + (((p_count - 1) / 1024)::bigint << 23), 8388608) as w;
end $$;

comment on function shardflake.next_ids(integer) is
  'p_count ids (1 to 102400, else SF010) in ascending order; a thousand cost about as much as one.';

revoke execute on function shardflake.next_ids(integer) from public;
