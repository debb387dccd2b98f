-- Reserves shard ids for the ids of imported rows, for ever. Safe to repeat.
-- None may be one of which anything here could have issued ids: what is imported has past times, and those may be taken.
create function shardflake.reserve_backfill_shards(p_shards integer[]) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last constant integer := (1 << shardflake._shard_bits()) - 1;
  v_bad record;
begin
  perform pg_advisory_xact_lock('shardflake._window'::regclass::oid::integer, 1936287346);  -- as assign_shard()
  perform shardflake._check_original('the marks of imports');
  select s as id,
         case when s is null or s not between 0 and v_last then 'is not between 0 and ' || v_last
              when s = any (shardflake._issued_shards()) then 'is or was a shard of this database'
              when s <@ shardflake._worker_range() or w.worker_id is not null then 'is or was a worker id of this database'
              when b.owner <> shardflake.shard_id() then 'was reserved by shard ' || b.owner || ', of which this is a copy'
              when b.owner is null and s = any (shardflake._backfill_shards()) then 'was reserved before, and how far it has come was dropped'
         end as reason
    into v_bad
    from unnest(p_shards) as s
    left join shardflake._worker w on w.worker_id = s
    left join shardflake._backfill b on b.shard_id = s
   order by 2 nulls last limit 1;
  if v_bad.reason is not null then
    raise exception 'shard id % cannot be reserved for imported rows: it %', coalesce(v_bad.id::text, 'NULL'), v_bad.reason using
      errcode = 'SF050', hint = format('Choose an id from 0 to %s that no database of the fleet has ever issued ids of.', v_last);
  end if;
  insert into shardflake._backfill (shard_id, owner) select distinct s, shardflake.shard_id() from unnest(p_shards) as s
      on conflict on constraint _backfill_pkey do nothing;
  execute format('create or replace function shardflake._backfill_shards() returns integer[] language sql stable parallel safe return %L::integer[]',
                 array(select distinct s from unnest(shardflake._backfill_shards() || p_shards) as s order by s));
end $$;

comment on function shardflake.reserve_backfill_shards(integer[]) is
  'Reserves shard ids for imported rows, for ever; safe to repeat. SF050 for one that is or was a shard or worker id of this database, or was reserved by a database of which this is a copy.';

revoke execute on function shardflake.reserve_backfill_shards(integer[]) from public;
