-- Drops the worker leases, unless one is live: the marks go with them, and only those of leases that are over lie in the past.

do $$
declare
  v_workers text;
begin
  lock table shardflake._worker, shardflake._worker_terms in access exclusive mode;
  select string_agg(format('%s (%s)', worker_id, holder), ', ' order by worker_id) into v_workers
    from shardflake._worker where greatest(expires_at, to_timestamp(high_water / 1000.0)) > clock_timestamp();
  if v_workers is not null then
    raise exception 'workers are leased: %', v_workers using
      errcode = 'SF031', hint = 'Stop their holders; ten seconds later nothing is in the way.';
  end if;
end $$;

create or replace function shardflake._worker_range() returns int4range language sql stable parallel safe return 'empty'::int4range;

drop function
  shardflake.grant_worker_usage(regrole), shardflake.workers(), shardflake.release_worker(integer, uuid, bigint),
  shardflake.renew_worker(integer, uuid, bigint, bigint), shardflake.claim_worker(text, integer),
  shardflake.reserve_worker_ids(integer, integer, interval), shardflake._begin_lease(), shardflake._incarnation_name(), shardflake._commit_durably();

drop table shardflake._worker, shardflake._worker_terms;
