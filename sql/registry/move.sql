-- Records that a logical shard has another holder. To be called after the old holder refuses and before the new one begins.
create function shardflake_registry.move(
  p_shard_id integer,
  p_from text,
  p_to text,
  p_system_identifier bigint,
  p_database_oid oid,
  p_database_name text
) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_held shardflake_registry.shard;
begin
  lock table shardflake_registry.shard in share row exclusive mode;  -- as claim() does
  select s.* into v_held from shardflake_registry.shard s where s.shard_id = p_shard_id;
  if v_held.retired_at is not null then
    raise exception 'shard id % was retired on %, after % had held it', p_shard_id, v_held.retired_at::date, v_held.name using
      errcode = 'SF020', hint = 'A retired shard id is not issued any more, and not moved.';
  elsif v_held.name not in (p_from, p_to) or not v_held.logical then
    raise exception 'shard id % is held by % as %, it cannot go from % to %', p_shard_id, v_held.name,
      case when v_held.logical then 'a logical shard' else 'its own' end, p_from, p_to using
      errcode = 'SF020', hint = 'SELECT * FROM shardflake_registry.shard shows who holds which.';
  end if;
  insert into shardflake_registry.shard as s (shard_id, name, logical, system_identifier, database_oid, database_name)
  values (p_shard_id, p_to, true, p_system_identifier, p_database_oid, p_database_name)
  on conflict on constraint shard_pkey do update
     set name = excluded.name, system_identifier = excluded.system_identifier, database_oid = excluded.database_oid,
         database_name = excluded.database_name, claimed_at = now()
   where (s.name, s.system_identifier, s.database_oid)
         is distinct from (excluded.name, excluded.system_identifier, excluded.database_oid);
end $$;

comment on function shardflake_registry.move(integer, text, text, bigint, oid, text) is
  'Records that a logical shard went from one holder to another; again, or without an entry, is fine. SF020 somebody else holds it, or it is retired.';

revoke execute on function shardflake_registry.move(integer, text, text, bigint, oid, text) from public;
