-- Records which file and which cluster this shard's generator lives in: what tells it from a copy.
create function shardflake._arm() returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_system bigint;
begin
  if has_function_privilege('pg_control_system()', 'execute') then
    select system_identifier into v_system from pg_control_system();
  end if;
  execute format('create or replace function shardflake._window_file() returns text language sql stable parallel safe return %L::text',
                 pg_relation_filepath('shardflake._window'));
  execute format('create or replace function shardflake._system_identifier() returns bigint language sql stable parallel safe return %L::bigint',
                 v_system);
end $$;

comment on function shardflake._arm() is
  'Records the file path of shardflake._window and the cluster''s system identifier. Private: assign_shard() and confirm_identity() call it.';

revoke execute on function shardflake._arm() from public;
