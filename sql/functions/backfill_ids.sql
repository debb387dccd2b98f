-- Returns an id for each time of a list in ascending order: the first one of its tick that is larger than all before it.
-- The mark is updated once, in the caller's transaction, which inserts the rows too: they commit together or not at all.
create function shardflake.backfill_ids(p_shard integer, p_times timestamptz[]) returns setof bigint
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_counter_bits constant integer := shardflake._id_counter_bits();
  v_counter_shift constant integer := shardflake._id_counter_shift();
  v_time_shift constant integer := shardflake._id_time_shift();
  v_counters constant bigint := (1::bigint << v_counter_bits) - 1;
  v_shard constant bigint := p_shard::bigint << shardflake._id_shard_shift();
  v_until constant timestamptz := clock_timestamp();
  v_mark record;
  v_last_time timestamptz;
  v_time timestamptz;
  v_position bigint;  -- tick << counter bits | counter: ids of one shard, without gaps
begin
  perform shardflake._check_original('the marks of imports');
  perform shardflake._commit_durably();  -- for ids that are read as soon as they are committed, and kept elsewhere
  select * into v_mark from shardflake._backfill b where b.shard_id = p_shard and b.owner = shardflake.shard_id() for update;
  if not found then
    raise exception 'shard id % is not reserved for imported rows of shard %', coalesce(p_shard::text, 'NULL'), shardflake.shard_id() using
      errcode = 'SF050', hint = 'Reserve one that no database uses, as the owner: SELECT shardflake.reserve_backfill_shards(array[N]).';
  end if;
  if coalesce(cardinality(p_times), 0) = 0 then
    return;
  end if;
  v_last_time := greatest(v_mark.last_time, shardflake.timestamp_of(0));
  v_position := coalesce(v_mark.last_id >> v_time_shift << v_counter_bits | (v_mark.last_id >> v_counter_shift & v_counters), -1);
  foreach v_time in array p_times loop
    if (v_time between v_last_time and v_until) is not true then
      perform shardflake._refuse_time(p_shard, v_time, v_last_time);
    end if;
    v_position := greatest(v_position + 1,
                           (floor(extract(epoch from v_time) * 1000)::bigint - shardflake.epoch_ms()) / shardflake._id_tick_ms() << v_counter_bits);
    return next v_position >> v_counter_bits << v_time_shift | ((v_position & v_counters) << v_counter_shift) | v_shard;
    v_last_time := v_time;
  end loop;
  if v_position >> v_counter_bits > shardflake._tick_at(v_until) then
    raise exception 'the ids of % rows from % on would end % ms ahead of the clock', cardinality(p_times), p_times[1],
      ((v_position >> v_counter_bits) - shardflake._tick_at(v_until)) * shardflake._id_tick_ms() using
      errcode = 'SF051', hint = 'Import the newest rows a little later.';
  end if;
  update shardflake._backfill b
     set last_id = v_position >> v_counter_bits << v_time_shift | ((v_position & v_counters) << v_counter_shift) | v_shard, last_time = v_last_time
   where b.shard_id = p_shard;
end $$;

comment on function shardflake.backfill_ids(integer, timestamptz[]) is
  'An id of reserved shard p_shard for each of p_times, which must ascend, in their order; insert the rows in the same transaction. More rows than a tick has ids get those of the next ticks. SF011 a time is NULL, before the epoch or in the future; SF050 not reserved; SF051 before a time that has had its ids.';

revoke execute on function shardflake.backfill_ids(integer, timestamptz[]) from public;
