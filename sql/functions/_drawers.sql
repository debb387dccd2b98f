-- Lists the other transactions that have drawn an id and still run: they hold the lock that nextval() takes on _window.
create function shardflake._drawers() returns setof text
language sql volatile parallel unsafe
begin atomic
  select distinct l.virtualtransaction
    from pg_catalog.pg_locks l
   where l.locktype = 'relation' and l.relation = 'shardflake._window'::pg_catalog.regclass
     and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
     and l.mode = 'RowExclusiveLock' and l.granted and l.pid is distinct from pg_catalog.pg_backend_pid();
end;

comment on function shardflake._drawers() is
  'Running transactions, but the caller''s, that have drawn an id, as pg_locks names them; prepared ones too.';

revoke execute on function shardflake._drawers() from public;
