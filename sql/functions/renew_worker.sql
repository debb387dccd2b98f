-- Prolongs a lease that has not run out, and raises its mark. What has run out stays so, even if nobody has claimed it: a lease
-- that a failover forgot may have come after it.
create function shardflake.renew_worker(
  p_worker integer,
  p_token uuid,
  p_high_water_ms bigint,
  p_used_ms bigint,
  out high_water_ms bigint,
  out server_us bigint,
  out ttl_ms bigint
)
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_terms record;
  v_old record;
  v_now timestamptz;
  v_now_ms bigint;
begin
  perform shardflake._begin_lease();
  select * into v_terms from shardflake._worker_terms;
  select * into v_old from shardflake._worker w where w.worker_id = p_worker for update;
  v_now := clock_timestamp();  -- after the lock: a claim may have had it
  if v_old.token is distinct from p_token or v_old.expires_at <= v_now then
    raise exception 'the lease of worker % is over', coalesce(p_worker::text, 'NULL') using
      errcode = 'SF032',
      detail = format('It ended at %s, now it is %s.', case when v_old.token = p_token then v_old.expires_at end, v_now),
      hint = 'Stop issuing ids and claim a worker id anew.';
  end if;
  v_now_ms := floor(extract(epoch from v_now) * 1000);
  server_us := extract(epoch from v_now) * 1000000;
  ttl_ms := extract(epoch from v_terms.ttl) * 1000;
  if greatest(p_high_water_ms, p_used_ms) > greatest(v_old.high_water, v_now_ms) + 86400000 then
    raise exception 'a mark of % ms is more than a day ahead of what worker % was given', greatest(p_high_water_ms, p_used_ms), p_worker using
      errcode = 'SF030', hint = 'Give the mark and the last time used, in milliseconds since 1970.';
  end if;
  -- p_high_water_ms: a promoted standby may not have heard of the last renewal
  high_water_ms := greatest(v_old.high_water, p_high_water_ms, v_now_ms + ttl_ms, p_used_ms + ttl_ms);
  update shardflake._worker w set renewed_at = v_now, expires_at = v_now + v_terms.ttl, high_water = high_water_ms where w.worker_id = p_worker;
end $$;

comment on function shardflake.renew_worker(integer, uuid, bigint, bigint) is
  'Prolongs a lease. p_high_water_ms: the mark that the holder knows; p_used_ms: the latest time in its ids. Ids up to high_water_ms are its own once this has committed. SF032 if the lease is over.';

revoke execute on function shardflake.renew_worker(integer, uuid, bigint, bigint) from public;
