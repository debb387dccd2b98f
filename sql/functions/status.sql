-- Shows what a DBA asks of a shard at 3 a.m.; reads only, also on a standby, and draws no id.
create function shardflake.status(
  out shard_id integer,
  out logical_shards integer[],
  out backfill_shards integer[],
  out layout text,
  out identity text,
  out clock timestamptz,
  out high_water timestamptz,
  out lead interval,
  out max_lead interval,
  out ids_per_ms_peak integer,
  out ids_per_ms_limit integer,
  out years_left numeric
)
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now constant bigint := shardflake._tick();
  v_opened bigint;
begin
  shard_id := shardflake.shard_id();
  logical_shards := shardflake._logical_shards();
  backfill_shards := '{}';
  if to_regprocedure('shardflake.backfills()') is not null then
    backfill_shards := array(select b.shard_id from shardflake.backfills() as b);
  end if;
  layout := shardflake._layout();
  clock := shardflake.timestamp_of(v_now << shardflake._time_shift());
  max_lead := shardflake._max_lead() * interval '1 millisecond';
  ids_per_ms_limit := (1 << shardflake._counter_bits()) / shardflake._tick_ms();
  years_left := round(((1::bigint << (63 - shardflake._window_bits())) - v_now) * shardflake._tick_ms() / 31557600000.0, 2);
  high_water := shardflake.timestamp_of(pg_sequence_last_value('shardflake._high_water') << shardflake._time_shift());
  if pg_is_in_recovery() then
    identity := 'standby';
    return;  -- the other sequences are unlogged: a standby has none
  end if;
  v_opened := nullif(pg_sequence_last_value('shardflake._opened'), 0);
  if v_opened is not null then
    lead := greatest(v_opened - v_now, 0) * shardflake._tick_ms() * interval '1 millisecond';
  end if;
  ids_per_ms_peak := pg_sequence_last_value('shardflake._peak');
  if shard_id is null then
    identity := 'not assigned';
  elsif pg_relation_filepath('shardflake._window') is distinct from shardflake._window_file() then
    identity := 'copied or altered';
  elsif shardflake._system_identifier() is null or not has_function_privilege('pg_control_system()', 'execute') then
    identity := 'confirmed, cluster unknown';
  else
    perform shardflake._check_identity();
    identity := 'confirmed';
  end if;
exception when sqlstate 'SF002' then
  identity := 'another cluster';
end $$;

comment on function shardflake.status() is
  'One row: shard ids, layout, identity (confirmed, not assigned, copied or altered, another cluster, standby), clock, high-water mark, lead of the last window over the clock, its limit, peak and possible ids/ms, years until the time field ends.';

revoke execute on function shardflake.status() from public;
