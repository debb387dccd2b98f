-- Refuses shard ids that are kept for worker leases or for imported rows: a generator that issued them could repeat an id.
create function shardflake._check_free_shards(p_shards integer[]) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bad integer;
begin
  select s into v_bad from unnest(p_shards) as s where s <@ shardflake._worker_range() limit 1;
  if found then
    raise exception 'shard id % is one of the worker ids % that this database leases', v_bad, shardflake._worker_range() using
      errcode = 'SF007', hint = 'Choose another id, or reserve other worker ids first: SELECT shardflake.reserve_worker_ids(first, last).';
  end if;
  select s into v_bad from unnest(p_shards) as s where s = any (shardflake._backfill_shards()) limit 1;
  if found then
    raise exception 'shard id % is reserved for imported rows', v_bad using
      errcode = 'SF007', hint = 'Choose another id: rows may hold ids of this one already.';
  end if;
end $$;

comment on function shardflake._check_free_shards(integer[]) is
  'Raises SF007 for a shard id that is reserved for worker leases or imported rows.';

revoke execute on function shardflake._check_free_shards(integer[]) from public;
