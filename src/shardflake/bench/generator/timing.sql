-- Server-side timing of the generator, without a round trip per call. Loaded into the benchmark's own databases only.

create schema timing;

-- Seconds for p_ids ids drawn one by one, and for the same loop without the generator. The warm-up first uses up what the
-- generator may run ahead of the clock: the ids of 127 ms that a run could borrow would make it look faster than it is.
create function timing.loop(p_ids integer, out generator_s double precision, out baseline_s double precision)
language plpgsql
as $$
declare
  v_start timestamptz;
begin
  perform count(shardflake.next_id()) from (select generate_series(1, 1000000)) as warm_up;
  v_start := clock_timestamp();
  perform count(shardflake.next_id()) from (select generate_series(1, p_ids)) as ids;
  generator_s := date_part('epoch', clock_timestamp() - v_start);
  v_start := clock_timestamp();
  perform count(*) from (select generate_series(1, p_ids)) as nothing;
  baseline_s := date_part('epoch', clock_timestamp() - v_start);
end $$;

-- Median seconds of one next_ids(p_ids), and of one call of a set-returning function that generates nothing, over p_calls each.
-- The clock gets ahead between the calls: without the pause it would be the limit of 1,024 ids a millisecond that is timed.
create function timing.batches(p_calls integer, p_ids integer, out generator_s double precision, out baseline_s double precision)
language plpgsql
as $$
declare
  v_start timestamptz;
  v_generator double precision[];
  v_baseline double precision[];
begin
  for v_call in 0 .. p_calls loop
    perform pg_sleep(p_ids / 1024000.0 + 0.005);
    v_start := clock_timestamp();
    perform count(*) from shardflake.next_ids(p_ids);
    continue when v_call = 0;  -- plans are made and caches filled
    v_generator[v_call] := date_part('epoch', clock_timestamp() - v_start);
    v_start := clock_timestamp();
    perform count(*) from generate_series(1::bigint, p_ids);
    v_baseline[v_call] := date_part('epoch', clock_timestamp() - v_start);
  end loop;
  generator_s := percentile_cont(0.5) within group (order by s) from unnest(v_generator) as s;
  baseline_s := percentile_cont(0.5) within group (order by s) from unnest(v_baseline) as s;
end $$;
