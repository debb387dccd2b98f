-- Lists the partitions of a table that is partitioned by ranges of ids, with their bounds as ids and as times.
create function shardflake.partitions(p_table regclass)
returns table (partition regclass, from_time timestamptz, until_time timestamptz, from_id bigint, until_id bigint, detaching boolean)
language sql stable parallel safe
begin atomic
  select p.partition, shardflake.timestamp_of(p.from_id), shardflake.timestamp_of(p.until_id), p.from_id, p.until_id, p.detaching
    from (select c.oid::pg_catalog.regclass as partition,
                 pg_catalog.substring(b.bounds, 'FROM \(''(\d+)''\)')::bigint as from_id,
                 pg_catalog.substring(b.bounds, 'TO \(''(\d+)''\)')::bigint as until_id,
                 i.inhdetachpending as detaching
            from pg_catalog.pg_inherits i
            join pg_catalog.pg_class c on c.oid = i.inhrelid and c.relispartition
            cross join lateral (select pg_catalog.pg_get_expr(c.relpartbound, c.oid) as bounds) as b
           where i.inhparent = p_table) as p
   order by p.from_id nulls first, p.partition::text;
end;

comment on function shardflake.partitions(regclass) is
  'Partitions of a table by ranges of ids: from_time inclusive, until_time exclusive, and the same as ids; NULL for a default partition and for open ends. detaching: a DETACH CONCURRENTLY was cut off.';
