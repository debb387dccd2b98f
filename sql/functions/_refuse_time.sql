-- Refuses a time that an imported row cannot have, and says which rule it breaks.
create function shardflake._refuse_time(p_shard integer, p_time timestamptz, p_last timestamptz) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_epoch constant timestamptz := shardflake.timestamp_of(0);
begin
  if p_time is null then
    raise exception 'a time of the rows to import is NULL' using
      errcode = 'SF011', hint = 'Give every row a time, such as coalesce(created_at, updated_at).';
  elsif p_time < v_epoch then
    raise exception 'no id can hold the time %, which is before the epoch %', p_time, v_epoch using
      errcode = 'SF011',
      hint = format('greatest(created_at, %L) gives older rows the first ids there are, in their order. A database that has no shard id yet can '
                    'have a layout with an earlier epoch: see shardflake.custom_layout().', v_epoch);
  elsif p_time < p_last then
    raise exception 'the ids of shard % have come to the time %, so that % is too late', p_shard, p_last, p_time using
      errcode = 'SF051',
      hint = 'Import in ascending order of time. For another table, or rows found later, reserve another shard id: '
             'SELECT shardflake.reserve_backfill_shards(array[N]).';
  end if;
  raise exception 'the time % is ahead of the clock, %', p_time, clock_timestamp() using
    errcode = 'SF011', hint = 'Import what is past; the ids of new rows come from next_id().';
end $$;

comment on function shardflake._refuse_time(integer, timestamptz, timestamptz) is
  'Raises SF011 for a time that is NULL, before the epoch or ahead of the clock, SF051 for one before p_last. Private: backfill_ids() calls it.';

revoke execute on function shardflake._refuse_time(integer, timestamptz, timestamptz) from public;
