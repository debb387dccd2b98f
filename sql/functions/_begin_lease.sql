-- Refuses to lease anything from a copy, makes the commit durable, and notes a new incarnation. Every lease begins here.
create function shardflake._begin_lease() returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
  perform shardflake._check_original('the leases');
  perform shardflake._commit_durably();
  update shardflake._worker_terms t
     set incarnation = shardflake._incarnation_name(), since = clock_timestamp()
   where t.incarnation <> shardflake._incarnation_name() or (t.since > clock_timestamp() and t.since < 'infinity');
end $$;

comment on function shardflake._begin_lease() is
  'Raises SF001 or SF002 for a database that must not lease, turns synchronous_commit on, and records since when this incarnation has been leasing.';

revoke execute on function shardflake._begin_lease() from public;
