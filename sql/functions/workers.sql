-- Lists the worker ids that were ever claimed, without the tokens that leases are renewed by.
create function shardflake.workers(
  out worker_id integer,
  out holder text,
  out live boolean,
  out claimed_at timestamptz,
  out renewed_at timestamptz,
  out expires_at timestamptz,
  out high_water timestamptz
) returns setof record
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select w.worker_id, w.holder, w.expires_at > clock_timestamp(), w.claimed_at, w.renewed_at, w.expires_at, to_timestamp(w.high_water / 1000.0)
    from shardflake._worker w
   order by w.worker_id;
end $$;

comment on function shardflake.workers() is
  'A row for each worker id ever claimed: its last holder, whether the lease is live, when it was claimed, renewed and ends, and the mark that the next holder must pass.';

revoke execute on function shardflake.workers() from public;
