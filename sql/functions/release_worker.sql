-- Ends a lease early. The mark comes down to what its holder has used: the holder vouches that it issues nothing more.
create function shardflake.release_worker(p_worker integer, p_token uuid, p_used_ms bigint) returns boolean
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform shardflake._commit_durably();
  update shardflake._worker w
     set expires_at = least(w.expires_at, clock_timestamp()), high_water = least(w.high_water, greatest(w.floor, coalesce(p_used_ms, w.high_water)))
   where w.worker_id = p_worker and w.token = p_token and w.expires_at > clock_timestamp();
  return found;
end $$;

comment on function shardflake.release_worker(integer, uuid, bigint) is
  'Ends a lease; p_used_ms is the latest time in its ids, in milliseconds since 1970. False if it was over already.';

revoke execute on function shardflake.release_worker(integer, uuid, bigint) from public;
