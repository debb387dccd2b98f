-- Gives up the shard ids that a name holds, its logical ones too; they are not handed out again.
create function shardflake_registry.retire(p_name text) returns integer[]
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ids integer[];
begin
  with gone as (
    update shardflake_registry.shard set retired_at = now() where name = p_name and retired_at is null returning shard_id
  )
  select array_agg(shard_id order by shard_id) into v_ids from gone;
  if v_ids is null then
    raise exception '% holds no shard id', p_name using
      errcode = 'SF022', hint = 'SELECT * FROM shardflake_registry.shard shows who holds which.';
  end if;
  return v_ids;
end $$;

comment on function shardflake_registry.retire(text) is
  'Retires the shard ids that a name holds, for ever, and returns them. SF022 it holds none.';

revoke execute on function shardflake_registry.retire(text) from public;
