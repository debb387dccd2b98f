-- Lists the columns whose default calls this generator, as the catalog's dependencies know them.
create function shardflake.id_columns() returns table (table_name regclass, column_name name)
language sql stable parallel safe
begin atomic
  select distinct d.adrelid::pg_catalog.regclass, a.attname
  from pg_catalog.pg_attrdef d
  join pg_catalog.pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
  join pg_catalog.pg_depend p on p.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass and p.objid = d.oid
  join pg_catalog.pg_proc f on p.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass and f.oid = p.refobjid
  where f.pronamespace = 'shardflake'::pg_catalog.regnamespace and f.proname = 'next_id'
  order by 1, 2;
end;

comment on function shardflake.id_columns() is
  'The columns whose default calls shardflake.next_id(), a row each.';
