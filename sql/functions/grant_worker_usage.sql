-- Lets a role lease worker ids, and nothing more.
create function shardflake.grant_worker_usage(p_role regrole) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
  execute format('grant usage on schema shardflake to %s', p_role);
  execute format(
    'grant execute on function shardflake.claim_worker(text, integer), shardflake.renew_worker(integer, uuid, bigint, bigint), '
    'shardflake.release_worker(integer, uuid, bigint), shardflake.workers() to %s', p_role);
end $$;

comment on function shardflake.grant_worker_usage(regrole) is
  'Grants p_role what a worker generator needs: USAGE on the schema, EXECUTE on claim, renew, release and list.';

revoke execute on function shardflake.grant_worker_usage(regrole) from public;
