-- Refuses, from the commit of the caller on, to issue ids of logical shards. Statements that began before go on with their plans:
-- whoever gives the shards to another database waits for the end of all transactions that are older.
create function shardflake.remove_logical_shards(p_shards integer[]) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_missing integer;
begin
  perform pg_advisory_xact_lock('shardflake._window'::regclass::oid::integer, 1936287346);
  if shardflake.shard_id() = any (p_shards) then
    raise exception 'shard % is this database''s own, not a logical one', shardflake.shard_id() using
      errcode = 'SF009', hint = 'A database keeps its own shard id; only logical shards can move.';
  end if;
  select s into v_missing from unnest(p_shards) as s where s is null or s <> all (shardflake._logical_shards()) limit 1;
  if found then
    raise exception 'shard % is not one of this database''s shards', coalesce(v_missing::text, 'NULL') using
      errcode = 'SF009', hint = 'SELECT logical_shards FROM shardflake.status() lists them.';
  end if;
  perform shardflake._set_logical_shards(array(select s from unnest(shardflake._logical_shards()) as s where s <> all (p_shards)));
end $$;

comment on function shardflake.remove_logical_shards(integer[]) is
  'Makes this database refuse to issue ids of logical shards from now on: SF009. Transactions that are running may still issue some.';

revoke execute on function shardflake.remove_logical_shards(integer[]) from public;
