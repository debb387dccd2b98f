-- Re-arms the generator of a restored, upgraded or altered database, after raising the mark above every id in its tables.
-- The caller vouches that no other database issues ids of this shard. The lock is kept until the transaction ends, so that no
-- window opens between the scan and the commit of the new constants.
create function shardflake.confirm_identity(out columns_checked integer, out largest_id bigint, out high_water timestamptz)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp set row_security = off
as $$
declare
  v_now bigint;
  v_mark bigint;
  v_max bigint;
  v_column record;
begin
  perform pg_advisory_xact_lock('shardflake._window'::regclass::oid::integer, 1936287346);
  perform coalesce(shardflake.shard_id(), shardflake._no_shard());
  v_now := shardflake._tick();
  columns_checked := 0;
  for v_column in select table_name, column_name from shardflake.id_columns() loop
    execute format('select max(%I) from %s', v_column.column_name, v_column.table_name) into v_max;
    columns_checked := columns_checked + 1;
    if v_max >> shardflake._time_shift() > v_now + greatest(shardflake._ticks(shardflake._max_lead()), shardflake._span()) then
      raise exception 'column % of % holds %, an id of % that is ahead of the clock', quote_ident(v_column.column_name), v_column.table_name, v_max,
        shardflake.timestamp_of(v_max) using
        errcode = 'SF005', hint = 'Set the clock right, or remove the row if the value is no id, then run confirm_identity() again.';
    end if;
    largest_id := greatest(largest_id, v_max);
  end loop;
  v_mark := greatest(pg_sequence_last_value('shardflake._high_water'), largest_id >> shardflake._time_shift(), v_now + shardflake._span());  -- span: what the fast path accepts
  perform setval('shardflake._incarnation', 0);  -- the next window opens as after a restart, even if this is cancelled below
  perform setval('shardflake._high_water', v_mark);
  perform shardflake._flush_wal();
  perform setval('shardflake._window', 0);
  perform setval('shardflake._opened', 0);
  perform shardflake._arm();
  high_water := shardflake.timestamp_of(v_mark << shardflake._time_shift());
end $$;

comment on function shardflake.confirm_identity() is
  'Declares this database the only one that issues ids of its shard: raises the high-water mark above every id found in columns whose default is next_id(), and re-arms the generator here. Run it after a restore, pg_upgrade or an ALTER of the sequences. Returns what it checked and the mark.';

revoke execute on function shardflake.confirm_identity() from public;
