-- Hands out a shard id: the lowest that was never handed out, or the one asked for. A database that asks again gets the same.
create function shardflake_registry.claim(
  p_name text,
  p_system_identifier bigint,
  p_database_oid oid,
  p_database_name text,
  shard_id integer default null,
  logical boolean default false,
  reuse_retired boolean default false
) returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_wanted integer := shard_id;
  v_held shardflake_registry.shard;
begin
  if v_wanted not between 0 and 8191 then
    raise exception 'shard id % is not between 0 and 8191', v_wanted using
      errcode = 'SF007', hint = 'Leave it out to get the lowest free one.';
  end if;
  lock table shardflake_registry.shard in share row exclusive mode;  -- one claim at a time, until the caller commits
  select s.* into v_held from shardflake_registry.shard s
   where s.retired_at is null and not claim.logical and not s.logical
     and (s.name = p_name or (s.system_identifier = p_system_identifier and s.database_oid = p_database_oid));
  if found then
    if v_held.name = p_name and v_held.database_oid = p_database_oid and v_held.system_identifier is not distinct from p_system_identifier
       and v_held.shard_id = coalesce(v_wanted, v_held.shard_id) then
      return v_held.shard_id;
    end if;
    raise exception '% asks for a shard id, but % holds % as database % already', p_name, v_held.name, v_held.shard_id, v_held.database_name using
      errcode = 'SF021', hint = 'If that database is gone, retire its shard id first: shardflake fleet retire.';
  end if;
  if v_wanted is null then
    select min(n) into v_wanted from generate_series(0, 8191) as n
     where not exists (select from shardflake_registry.shard s where s.shard_id = n);
    if v_wanted is null then
      raise exception 'all 8192 shard ids were handed out' using
        errcode = 'SF020', hint = 'Ask for a retired one with reuse_retired, if no id of it is left in any table or backup.';
    end if;
  end if;
  select s.* into v_held from shardflake_registry.shard s where s.shard_id = v_wanted;
  if found and v_held.retired_at is null then
    if claim.logical and v_held.logical and v_held.name = p_name then
      return v_wanted;
    end if;
    raise exception 'shard id % is held by %', v_wanted, v_held.name using
      errcode = 'SF020', hint = 'Leave the shard id out to get the lowest free one.';
  elsif found and not reuse_retired then
    raise exception 'shard id % was retired on %, after % had held it', v_wanted, v_held.retired_at::date, v_held.name using
      errcode = 'SF020', hint = 'Its ids may be in tables and backups; ask with reuse_retired only if none is left.';
  end if;
  insert into shardflake_registry.shard as s (shard_id, name, logical, system_identifier, database_oid, database_name)
  values (v_wanted, p_name, claim.logical, p_system_identifier, p_database_oid, p_database_name)
  on conflict on constraint shard_pkey do update
     set name = excluded.name, logical = excluded.logical, system_identifier = excluded.system_identifier,
         database_oid = excluded.database_oid, database_name = excluded.database_name, claimed_at = now(), retired_at = null;
  return v_wanted;
end $$;

comment on function shardflake_registry.claim(text, bigint, oid, text, integer, boolean, boolean) is
  'Hands out shard_id, or the lowest that was never handed out, to a database; the same again if it asks again. SF020 taken or retired, SF021 the name or the database holds another.';

revoke execute on function shardflake_registry.claim(text, bigint, oid, text, integer, boolean, boolean) from public;
