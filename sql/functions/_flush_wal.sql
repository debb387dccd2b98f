-- Makes all WAL written so far durable, or raises; called with the generator's lock held.
create function shardflake._flush_wal() returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_lsn constant pg_lsn := pg_current_wal_insert_lsn();
begin
  if current_setting('server_version_num')::integer >= 170000 then
    execute 'select pg_logical_emit_message(false, ''shardflake'', '''', true)';  -- by name: 15 and 16 lack the fourth argument
  else
    -- A TRUNCATE of a relation file made in the same subtransaction flushes, if the relation has a free space map: hence three
    -- pages. pg_dump holds ACCESS SHARE on every table for as long as it runs; then a new table, gone with the
    -- subtransaction, does the same at the price of a few dead catalog rows.
    begin
      begin
        lock table shardflake._flush in access exclusive mode nowait;
        truncate shardflake._flush;
        insert into shardflake._flush select repeat('x', 900) from generate_series(1, 3);
        truncate shardflake._flush;
      exception when lock_not_available then
        create table shardflake._flush_anew (like shardflake._flush including storage) with (fillfactor = 10);
        insert into shardflake._flush_anew select repeat('x', 900) from generate_series(1, 3);
        truncate shardflake._flush_anew;
      end;
      raise exception using errcode = 'SFEND';
    exception when sqlstate 'SFEND' then null;
    end;
  end if;
  if pg_current_wal_flush_lsn() < v_lsn then
    raise exception 'the high-water mark is not durable: WAL is flushed up to %, not %', pg_current_wal_flush_lsn(), v_lsn using
      errcode = 'SF006',
      hint = 'PostgreSQL 15 and 16 need wal_level = replica or higher.';
  end if;
end $$;

comment on function shardflake._flush_wal() is
  'Flushes WAL up to the current insert position and checks that it happened; raises SF006 if not.';

revoke execute on function shardflake._flush_wal() from public;
