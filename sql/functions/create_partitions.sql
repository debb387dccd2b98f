-- Creates the partitions of a table by days or months of its ids, UTC, from one time on and ahead of the clock.
-- Attached, not created in place: ATTACH leaves the table open to reads and writes, CREATE … PARTITION OF locks it for both.
create function shardflake.create_partitions(p_table regclass, p_unit text, ahead integer default 3, from_time timestamptz default null)
returns setof regclass
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parent pg_class;
  v_column name;
  v_start timestamp;
  v_last timestamp;
  v_next timestamp;
  v_low bigint;
  v_high bigint;
  v_name text;
  v_full text;
  v_found record;
begin
  if p_unit is null or p_unit not in ('day', 'month') or ahead is null or ahead not between 0 and 1000 then
    raise exception 'no partitions by % can be made % ahead', coalesce(p_unit, 'NULL'), coalesce(ahead::text, 'NULL') using
      errcode = 'SF041', hint = 'The unit is ''day'' or ''month'', ahead 0 to 1000 of them after the present one.';
  end if;
  execute format('lock table only %s in share update exclusive mode', p_table);  -- one run at a time; what it sees then holds
  select * into v_parent from pg_class where oid = p_table;
  select a.attname into v_column
    from pg_partitioned_table t join pg_attribute a on a.attrelid = t.partrelid and a.attnum = t.partattrs[0]
   where t.partrelid = p_table and t.partstrat = 'r' and t.partnatts = 1 and a.atttypid = 'bigint'::regtype;
  if v_column is null then
    raise exception 'table % is not partitioned by ranges of one bigint column', p_table using
      errcode = 'SF041', hint = 'Create it with PARTITION BY RANGE (id).';
  end if;
  v_start := date_trunc(p_unit, coalesce(from_time, clock_timestamp()) at time zone 'UTC');
  v_last := date_trunc(p_unit, clock_timestamp() at time zone 'UTC') + ahead * ('1 ' || p_unit)::interval;
  while v_start <= v_last loop
    v_next := v_start + ('1 ' || p_unit)::interval;
    v_low := shardflake.min_id(v_start at time zone 'UTC');
    v_high := shardflake.min_id(v_next at time zone 'UTC');
    v_name := v_parent.relname || '_p' || to_char(v_start, case p_unit when 'day' then 'YYYYMMDD' else 'YYYYMM' end);
    v_full := format('%I.%I', (select nspname from pg_namespace where oid = v_parent.relnamespace), v_name);
    v_start := v_next;
    if octet_length(v_name) > 63 then
      raise exception 'the name % is longer than 63 bytes', v_name using
        errcode = 'SF041', hint = format('Give table %s a shorter name.', p_table);
    end if;
    select * into v_found from shardflake.partitions(p_table) p where p.from_id = v_low and p.until_id = v_high and not p.detaching;
    continue when found;
    if to_regclass(v_full) is not null then
      raise exception '% exists, but is not the partition of % from % to before %', v_full, p_table, v_low, v_high using
        errcode = 'SF041', hint = format('Rename it, or attach it: ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%s) TO (%s);', p_table, v_full, v_low, v_high);
    end if;
    execute format('create table %s (like %s including defaults including constraints including generated including storage '
                   'including compression) %s', v_full, p_table,
                   (select 'tablespace ' || quote_ident(spcname) from pg_tablespace where oid = v_parent.reltablespace));
    if v_parent.relowner <> (select relowner from pg_class where oid = v_full::regclass) then
      execute format('alter table %s owner to %s', v_full, v_parent.relowner::regrole);
    end if;
    execute format('alter table %s attach partition %s for values from (%s) to (%s)', p_table, v_full, v_low, v_high);
    return next v_full::regclass;
  end loop;
end $$;

comment on function shardflake.create_partitions(regclass, text, integer, timestamptz) is
  'Creates and attaches the missing partitions, UTC days or months, of a table PARTITION BY RANGE (id): from from_time (now) to ahead units after the present one. Returns those that are new; SF041 with the remedy.';

revoke execute on function shardflake.create_partitions(regclass, text, integer, timestamptz) from public;
