-- Leases the lowest free worker id, or the one that is asked for, to a holder. Whoever held it before may still be running without
-- knowing that its lease is over: it stays at or below the mark that it was given, and this holder above it.
create function shardflake.claim_worker(
  p_holder text,
  worker integer default null,
  out worker_id integer,
  out token uuid,
  out floor_ms bigint,
  out high_water_ms bigint,
  out server_us bigint,
  out ttl_ms bigint,
  out retry_ms bigint
)
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_range constant int4range := shardflake._worker_range();
  v_terms record;
  v_old record;
  v_now timestamptz;
  v_now_ms bigint;
  v_candidate integer;
begin
  if p_holder is null or length(p_holder) not between 1 and 200 then
    raise exception 'holder % is not a text of 1 to 200 characters', coalesce(quote_literal(left(p_holder, 200)), 'NULL') using
      errcode = 'SF030', hint = 'Say who holds the lease, such as the host''s name and the process id.';
  end if;
  if isempty(v_range) or (worker is not null and not worker <@ v_range) then
    raise exception 'worker % is not one of the reserved ids %', coalesce(worker::text, 'NULL'), v_range using
      errcode = 'SF030', hint = 'Reserve a range once, as the owner: SELECT shardflake.reserve_worker_ids(7168, 8191).';
  end if;
  perform shardflake._begin_lease();
  select * into strict v_terms from shardflake._worker_terms for update;  -- one claim at a time
  v_now := clock_timestamp();
  v_now_ms := floor(extract(epoch from v_now) * 1000);
  server_us := extract(epoch from v_now) * 1000000;
  ttl_ms := extract(epoch from v_terms.ttl) * 1000;
  if v_now < v_terms.since + 2 * v_terms.ttl then  -- leases that this incarnation never heard of must run out first
    retry_ms := extract(epoch from v_terms.since + 2 * v_terms.ttl - v_now) * 1000 + 1;
    return;
  end if;
  -- No lease can last longer than this, unless the clock was set back: then its holder is given the whole length once more.
  update shardflake._worker w set expires_at = v_now + v_terms.ttl where w.expires_at > v_now + v_terms.ttl;
  for v_candidate in
    select c from generate_series(coalesce(worker, lower(v_range)), coalesce(worker, upper(v_range) - 1)) as c
      left join shardflake._worker w on w.worker_id = c
     where w.expires_at is null or w.expires_at <= v_now
     order by coalesce(w.high_water, 0) > v_now_ms, case when w.high_water > v_now_ms then w.high_water end, c
  loop
    -- locked by a renewal that is about to commit: not free
    select * into v_old from shardflake._worker w where w.worker_id = v_candidate for update skip locked;
    if found then
      continue when v_old.expires_at > v_now;
    else
      continue when exists (select from shardflake._worker w where w.worker_id = v_candidate);
    end if;
    worker_id := v_candidate;
    token := gen_random_uuid();  -- not a sequence: a promoted standby might give the same number again
    floor_ms := greatest(v_old.high_water, v_now_ms);
    high_water_ms := floor_ms + ttl_ms;
    insert into shardflake._worker as w (worker_id, holder, token, claimed_at, renewed_at, expires_at, floor, high_water)
    values (v_candidate, p_holder, token, v_now, v_now, v_now + v_terms.ttl, floor_ms, high_water_ms)
        on conflict on constraint _worker_pkey do update
       set holder = excluded.holder, token = excluded.token, claimed_at = excluded.claimed_at, renewed_at = excluded.renewed_at,
           expires_at = excluded.expires_at, floor = excluded.floor, high_water = excluded.high_water;
    return;
  end loop;
  if worker is not null then
    select * into v_old from shardflake._worker w where w.worker_id = worker;
    raise exception 'worker % is held by %, until % at least', worker, quote_literal(v_old.holder), v_old.expires_at using
      errcode = 'SF031', hint = 'Two holders of one worker id would repeat ids. Stop the other one, or give this one another id.';
  end if;
  select greatest(extract(epoch from min(w.expires_at) - v_now) * 1000, 0) + 1 into retry_ms from shardflake._worker w where w.worker_id <@ v_range;
end $$;

comment on function shardflake.claim_worker(text, integer) is
  'Leases the lowest free worker id, or the one asked for, to p_holder: ids of times after floor_ms up to high_water_ms (since 1970) are its own. worker_id is NULL if none is free or leases of before a failover may still run: try again after retry_ms. SF030 not reserved, SF031 held by another.';

revoke execute on function shardflake.claim_worker(text, integer) from public;
