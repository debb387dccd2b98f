-- Refuses to lease anything from a copy, makes the commit durable, and notes a new incarnation. Every lease begins here.
create function shardflake._begin_lease() returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
  perform coalesce(shardflake.shard_id(), shardflake._no_shard());
  if pg_relation_filepath('shardflake._window') is distinct from shardflake._window_file() then
    raise exception 'the leases of shard % in database "%" are a copy', shardflake.shard_id(), current_database() using
      errcode = 'SF002',
      hint = 'If this database is to go on as this shard and no other does, run SELECT * FROM shardflake.confirm_identity().';
  end if;
  perform shardflake._check_identity();
  perform shardflake._commit_durably();
  update shardflake._worker_terms t
     set incarnation = shardflake._incarnation_name(), since = clock_timestamp()
   where t.incarnation <> shardflake._incarnation_name() or (t.since > clock_timestamp() and t.since < 'infinity');
end $$;

comment on function shardflake._begin_lease() is
  'Raises SF001 or SF002 for a database that must not lease, turns synchronous_commit on, and records since when this incarnation has been leasing.';

revoke execute on function shardflake._begin_lease() from public;
