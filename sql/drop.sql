-- Drops what install.sql made, unless something outside the schema still uses it; the rows and their ids stay.

do $$
declare
  v_users text;
begin
  select string_agg(distinct pg_describe_object(d.classid, d.objid, d.objsubid), ', ') into v_users
    from pg_depend d
    left join pg_proc f on d.refclassid = 'pg_proc'::regclass and f.oid = d.refobjid
    left join pg_class s on d.refclassid = 'pg_class'::regclass and s.oid = d.refobjid and s.relkind = 'S'
    left join pg_proc own on d.classid = 'pg_proc'::regclass and own.oid = d.objid and own.pronamespace = 'shardflake'::regnamespace
   where coalesce(f.pronamespace, s.relnamespace) = 'shardflake'::regnamespace and own.oid is null;
  if v_users is not null then
    raise exception 'shardflake is still in use: %', v_users using
      errcode = 'SF013',
      hint = 'Run SELECT shardflake.drop_id_default(table, column) for each column first; drop views and functions that call it.';
  end if;
end $$;

do $$
declare
  v_functions text;
begin  -- in one command: they depend on each other
  select string_agg(oid::regprocedure::text, ', ') into v_functions from pg_proc where pronamespace = 'shardflake'::regnamespace;
  execute 'drop function ' || v_functions;
end $$;

drop sequence shardflake._window, shardflake._high_water, shardflake._incarnation, shardflake._opened, shardflake._peak;

drop table shardflake._flush;
