-- Three queries of "shardflake fleet check", divided by blank lines. First: columns of the wrong type, and partitions on their own.
with ids as (
  select c.table_name::oid as relid, a.attnum, c.table_name, c.column_name, a.atttypid, a.atttypmod
    from shardflake.id_columns() c
    join pg_catalog.pg_attribute a on a.attrelid = c.table_name and a.attname = c.column_name
)
select 'not bigint' as kind, i.table_name::text, i.column_name::text,
       'its type is ' || pg_catalog.format_type(i.atttypid, i.atttypmod) as detail
  from ids i where i.atttypid <> 'pg_catalog.int8'::pg_catalog.regtype
union all
select 'foreign key', c.conrelid::pg_catalog.regclass::text, a.attname::text,
       pg_catalog.format('its type is %s, it refers to %s of %s', pg_catalog.format_type(a.atttypid, a.atttypmod), i.column_name, i.table_name)
  from ids i
  join pg_catalog.pg_constraint c on c.contype = 'f' and c.confrelid = i.relid and c.conparentid = 0
  join lateral unnest(c.conkey, c.confkey) as k (own, referenced) on k.referenced = i.attnum
  join pg_catalog.pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.own
 where a.atttypid <> 'pg_catalog.int8'::pg_catalog.regtype
union all
select 'partition', p.relid::text, a.attname::text,
       pg_catalog.format('%s has next_id() as its default, this partition has not', i.table_name)
  from ids i
  cross join lateral pg_catalog.pg_partition_tree(i.relid) p
  join pg_catalog.pg_attribute a on a.attrelid = p.relid and a.attname = i.column_name
 where p.level > 0 and not exists (select from ids o where o.relid = p.relid and o.attnum = a.attnum)
 order by 1, 2, 3;

-- Second: bigint primary keys that nothing fills, so that the application has to.
select array[n.nspname::text, t.relname::text], a.attname::text
  from pg_catalog.pg_index x
  join pg_catalog.pg_class t on t.oid = x.indrelid and t.relkind in ('r', 'p') and not t.relispartition
  join pg_catalog.pg_namespace n on n.oid = t.relnamespace and n.nspname not in ('pg_catalog', 'information_schema', 'shardflake')
  join pg_catalog.pg_attribute a on a.attrelid = t.oid and a.attnum = x.indkey[0]
 where x.indisprimary and a.atttypid = 'pg_catalog.int8'::pg_catalog.regtype and a.attidentity = '' and not a.atthasdef
   and pg_catalog.has_table_privilege(t.oid, 'select')
   and not exists (select from pg_catalog.pg_constraint c where c.contype = 'f' and c.conrelid = t.oid and a.attnum = any (c.conkey))
 order by 1, 2;

-- Third: whether a number is an id of this database: a day after the epoch or later, not in the future, of one of its shards.
select cast(%(id)s as bigint) >> shardflake._time_shift() between shardflake._ticks(86400000) and greatest(shardflake._tick(), pg_catalog.pg_sequence_last_value('shardflake._high_water'))
       and shardflake.shard_of(%(id)s) = any (shardflake._logical_shards());
