-- Reserves shard ids for worker leases, and says how long a lease lasts. They can be no shard's of this database from now on.
create function shardflake.reserve_worker_ids(p_first integer, p_last integer, ttl interval default '10 seconds') returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_range int4range;
  v_bad integer;
begin
  if p_first is null or p_last is null or p_first < 0 or p_last >> shardflake._shard_bits() > 0 or p_first > p_last then
    raise exception 'worker ids % to % are not within 0 to %', coalesce(p_first::text, 'NULL'), coalesce(p_last::text, 'NULL'), (1 << shardflake._shard_bits()) - 1 using
      errcode = 'SF030', hint = 'Give the first and the last id of a range that no shard uses, such as 7168, 8191.';
  end if;
  if ttl is null or ttl not between interval '1 second' and interval '1 hour' then
    raise exception 'a lease of % is not between 1 second and 1 hour', coalesce(ttl::text, 'NULL') using
      errcode = 'SF030', hint = 'The default of 10 seconds suits most applications.';
  end if;
  v_range := int4range(p_first, p_last, '[]');
  perform pg_advisory_xact_lock('shardflake._window'::regclass::oid::integer, 1936287346);  -- as assign_shard()
  perform shardflake._begin_lease();
  select s into v_bad from unnest(shardflake._logical_shards() || shardflake._backfill_shards()) as s where s <@ v_range order by s limit 1;
  if found then
    raise exception 'shard % of this database lies in the worker ids % to %', v_bad, p_first, p_last using
      errcode = 'SF030', hint = 'Choose a range that no shard of the fleet uses.';
  end if;
  insert into shardflake._worker_terms (ttl, incarnation, since) values (ttl, shardflake._incarnation_name(), '-infinity')
      on conflict on constraint _worker_terms_pkey do nothing;
  perform from shardflake._worker_terms for update;  -- no claim meanwhile
  select w.worker_id into v_bad from shardflake._worker w, shardflake._worker_terms t
   where w.expires_at > clock_timestamp() and (not w.worker_id <@ v_range or t.ttl <> reserve_worker_ids.ttl) order by 1 limit 1;
  if found then
    raise exception 'worker % is leased under the present range and length of lease', v_bad using
      errcode = 'SF031', hint = 'Stop its holder first; SELECT * FROM shardflake.workers() shows who it is.';
  end if;
  update shardflake._worker_terms t set ttl = reserve_worker_ids.ttl;
  execute format('create or replace function shardflake._worker_range() returns int4range language sql stable parallel safe return %L::int4range', v_range);
end $$;

comment on function shardflake.reserve_worker_ids(integer, integer, interval) is
  'Reserves shard ids p_first to p_last for worker leases, which last ttl (1 second to 1 hour, default 10 seconds) unless renewed. SF030 if a shard of this database lies among them, SF031 while a lease would fall outside.';

revoke execute on function shardflake.reserve_worker_ids(integer, integer, interval) from public;
