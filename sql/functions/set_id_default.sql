-- Makes next_id() the default of a bigint column, live: no rewrite, one short ACCESS EXCLUSIVE lock, every precondition checked.
create function shardflake.set_id_default(p_table regclass, p_column name, shard integer default null) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_table regclass;
  v_sequence text;
  v_default text;
begin
  perform coalesce(shardflake.shard_id(), shardflake._no_shard());
  if shard <> all (shardflake._logical_shards()) then
    perform shardflake._refuse_shard(shard);
  end if;
  perform shardflake._check_id_column(p_table, p_column);
  for v_table in  -- the table, then its partitions: one that was attached may have a sequence of its own
    with recursive tree as (
      select p_table::oid as oid union all select i.inhrelid from tree t join pg_inherits i on i.inhparent = t.oid
    ) select oid::regclass from tree
  loop
    v_sequence := pg_get_serial_sequence(v_table::text, p_column);
    if exists (select from pg_attribute where attrelid = v_table and attname = p_column and attidentity <> '') then
      execute format('alter table %s alter column %I drop identity', v_table, p_column);
      raise notice 'the identity of column % of % is dropped, and its sequence % with it', quote_ident(p_column), v_table, v_sequence;
    elsif v_sequence is not null then
      execute format('alter sequence %s owned by none', v_sequence);
      raise notice 'sequence % is detached from column % of % and kept', v_sequence, quote_ident(p_column), v_table;
    end if;
  end loop;
  select pg_get_expr(d.adbin, d.adrelid) into v_default
    from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
   where d.adrelid = p_table and a.attname = p_column;
  execute format('alter table %s alter column %I set default shardflake.next_id(%s)', p_table, p_column, shard);  -- partitions follow
  if v_default not like 'shardflake.next_id(%' then
    raise notice 'the default of column % of % was %', quote_ident(p_column), p_table, v_default;
  end if;
end $$;

comment on function shardflake.set_id_default(regclass, name, integer) is
  'Makes shardflake.next_id(), or next_id(shard), the default of a bigint column and of its partitions; detaches a serial''s sequence, drops an identity, never rewrites the table. SF012 with the remedy if the column cannot hold ids.';

revoke execute on function shardflake.set_id_default(regclass, name, integer) from public;
