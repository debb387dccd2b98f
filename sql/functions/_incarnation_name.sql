-- Names what the leases rest on: the cluster, its timeline and the database. A promotion, a recovery, a copy and a restore each
-- change one of them, and may have lost leases; a plain restart loses nothing and changes nothing.
create function shardflake._incarnation_name() returns text
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
  return format('%s %s %s', left(pg_walfile_name(pg_current_wal_insert_lsn()), 8), shardflake._system_identifier(), shardflake._window_file());
end $$;

comment on function shardflake._incarnation_name() is
  'Timeline, system identifier and file of shardflake._window, as one text.';

revoke execute on function shardflake._incarnation_name() from public;
