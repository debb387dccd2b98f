-- Lists what an installation contains, a row per object: the same after psql, "alembic upgrade" and the offline script, and what
-- "shardflake db check" compares. Left out is what may differ between shards: the constants' bodies, grants to single
-- roles, and the owner's name.
with schema as (
  select oid, nspowner, nspacl from pg_catalog.pg_namespace where nspname = 'shardflake'
), objects as (
  select 'schema shardflake' as object,
         '' as definition,
         pg_catalog.obj_description(s.oid, 'pg_namespace') as comment,
         s.nspowner as owner,
         coalesce(s.nspacl, pg_catalog.acldefault('n', s.nspowner)) as acl
    from schema s
  union all
  select 'function ' || p.oid::pg_catalog.regprocedure::text,
         case when p.proname in ('shard_id', '_logical_shards', '_issued_shards', '_backfill_shards', '_max_lead', '_window_file', '_system_identifier', '_worker_range',
                                  '_layout', '_tick_ms', '_window_bits', '_time_shift', '_shard_bits', '_shard_shift', '_counter_bits', '_counter_shift', '_span',
                                  '_is_due', '_last_draw', '_tick', 'epoch_ms', '_id_tick_ms', '_id_time_bits', '_id_time_shift', '_id_shard_bits', '_id_shard_shift', '_id_counter_bits', '_id_counter_shift')
              then pg_catalog.regexp_replace(pg_catalog.pg_get_functiondef(p.oid), 'RETURN .*', 'RETURN (constant of the shard)')
              else pg_catalog.pg_get_functiondef(p.oid) end,
         pg_catalog.obj_description(p.oid, 'pg_proc'),
         p.proowner,
         coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))
    from schema s join pg_catalog.pg_proc p on p.pronamespace = s.oid
  union all
  select case c.relkind when 'S' then 'sequence ' else 'table ' end || c.oid::pg_catalog.regclass::text,
         case c.relpersistence when 'u' then 'unlogged ' else '' end
           || coalesce(pg_catalog.format('%s from %s to %s start %s by %s cache %s', pg_catalog.format_type(q.seqtypid, null), q.seqmin,
                                         q.seqmax, q.seqstart, q.seqincrement, q.seqcache),
                       (select pg_catalog.string_agg(a.attname || ' ' || pg_catalog.format_type(a.atttypid, a.atttypmod) || ' ' || a.attstorage::text,
                                                     ', ' order by a.attnum)
                          from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped))
           || coalesce(' with ' || c.reloptions::text, ''),
         pg_catalog.obj_description(c.oid, 'pg_class'),
         c.relowner,
         coalesce(c.relacl, pg_catalog.acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner))
    from schema s join pg_catalog.pg_class c on c.relnamespace = s.oid
    left join pg_catalog.pg_sequence q on q.seqrelid = c.oid
   where c.relkind in ('S', 'r') and c.relname <> '_revision'
)
select o.object,
       pg_catalog.rtrim(o.definition) as definition,
       o.comment,
       case when o.owner = s.nspowner then 'the schema''s owner' else pg_catalog.pg_get_userbyid(o.owner)::text end as owner,
       coalesce((select pg_catalog.string_agg(pg_catalog.lower(x.privilege_type), ', ' order by x.privilege_type)
                   from pg_catalog.aclexplode(o.acl) x where x.grantee = 0), 'none') as public_privileges
  from objects o cross join schema s
 order by o.object collate "C";
