-- Takes next_id() away as the default of a column; the values stay.
create function shardflake.drop_id_default(p_table regclass, p_column name) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from shardflake.id_columns() where table_name = p_table and column_name = p_column) then
    raise exception 'the default of column % of % is not next_id()', quote_ident(p_column), p_table using
      errcode = 'SF012', hint = 'SELECT * FROM shardflake.id_columns() lists the columns that use it.';
  end if;
  execute format('alter table %s alter column %I drop default', p_table, p_column);
end $$;

comment on function shardflake.drop_id_default(regclass, name) is
  'Drops the default of a column, which must be shardflake.next_id(); SF012 otherwise.';

revoke execute on function shardflake.drop_id_default(regclass, name) from public;
