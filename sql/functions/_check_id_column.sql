-- Refuses to make next_id() the default of a column that could not hold its ids, or whose values would collide with them.
create function shardflake._check_id_column(p_table regclass, p_column name) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp set row_security = off
as $$
declare
  v_column pg_attribute;
  v_max bigint;
  v_narrow text;
  v_roles text;
begin
  select * into v_column from pg_attribute where attrelid = p_table and attname = p_column and attnum > 0 and not attisdropped;
  if not found then
    raise exception 'table % has no column %', p_table, quote_ident(p_column) using
      errcode = 'SF012', hint = 'Check the name; SQL folds unquoted names to lower case.';
  end if;
  select string_agg(format('ALTER TABLE %s ALTER COLUMN %I TYPE bigint;', c.conrelid::regclass, a.attname), ' ' order by c.conrelid::regclass::text)
    into v_narrow
    from pg_constraint c
    join lateral unnest(c.conkey, c.confkey) as k (own, referenced) on k.referenced = v_column.attnum
    join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.own
   where c.contype = 'f' and c.confrelid = p_table and c.conparentid = 0 and a.atttypid in ('integer'::regtype, 'smallint'::regtype);
  if v_column.atttypid <> 'bigint'::regtype then
    raise exception 'column % of % is %, ids need bigint', quote_ident(p_column), p_table, format_type(v_column.atttypid, v_column.atttypmod) using
      errcode = 'SF012',
      hint = case when v_column.atttypid in ('integer'::regtype, 'smallint'::regtype)
                  then concat_ws(' ', format('Widen it first: ALTER TABLE %s ALTER COLUMN %I TYPE bigint;', p_table, p_column), v_narrow,
                                 'Each rewrites its table and indexes under an ACCESS EXCLUSIVE lock: nothing reads or writes the table meanwhile.')
                  else 'Choose a bigint column, or add one.' end;
  end if;
  if v_narrow is not null then
    raise exception 'foreign keys to column % of % are too narrow for ids', quote_ident(p_column), p_table using
      errcode = 'SF012',
      hint = concat_ws(' ', 'Widen them first:', v_narrow, 'Each rewrites its table under an ACCESS EXCLUSIVE lock: nothing reads or writes it meanwhile.');
  end if;
  if v_column.attgenerated <> '' then
    raise exception 'column % of % is generated', quote_ident(p_column), p_table using
      errcode = 'SF012', hint = 'A generated column cannot have a default; choose another column.';
  end if;
  select string_agg(distinct r.rolname::text, ', ' order by r.rolname::text) into v_roles
    from pg_class t
    cross join lateral aclexplode(coalesce(t.relacl, acldefault('r', t.relowner))
                                  || array(select unnest(a.attacl) from pg_attribute a where a.attrelid = t.oid)) as x
    join pg_roles r on r.oid = x.grantee
   where t.oid = p_table and x.privilege_type = 'INSERT'
     and not (has_schema_privilege(r.oid, 'shardflake', 'usage') and has_sequence_privilege(r.oid, 'shardflake._window', 'usage')
              and has_function_privilege(r.oid, 'shardflake._open_window(integer)', 'execute'));
  if v_roles is not null then
    raise exception 'roles that insert into % may not use the generator: %', p_table, v_roles using
      errcode = 'SF012', hint = 'Run SELECT shardflake.grant_usage(...) for each of them first, or their inserts would fail.';
  end if;
  execute format('select max(%I) from %s', p_column, p_table) into v_max;
  if v_max >> shardflake._time_shift() > greatest(shardflake._tick(), pg_sequence_last_value('shardflake._window') >> shardflake._window_bits()) then
    raise exception 'column % of % holds %, which the next id would not exceed', quote_ident(p_column), p_table, v_max using
      errcode = 'SF012', hint = 'Ids grow with time from ' || (shardflake._tick() << shardflake._time_shift()) || '; values above would be met again. Move those rows first.';
  end if;
end $$;

comment on function shardflake._check_id_column(regclass, name) is
  'Raises SF012 if a column cannot take next_id() as its default: no such column, not bigint, narrow foreign keys, roles without the grant, values above the next id.';

revoke execute on function shardflake._check_id_column(regclass, name) from public;
