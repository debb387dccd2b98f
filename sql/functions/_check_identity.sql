-- Refuses to go on in a cluster other than the one in which the shard was armed (a logical restore, pg_upgrade).
create function shardflake._check_identity() returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_system bigint;
begin
  if shardflake._system_identifier() is null or not has_function_privilege('pg_control_system()', 'execute') then
    return;  -- a managed service that hides it: status() says so
  end if;
  select system_identifier into v_system from pg_control_system();
  if v_system <> shardflake._system_identifier() then
    raise exception 'shard % was armed in cluster %, this is cluster %', shardflake.shard_id(), shardflake._system_identifier(), v_system using
      errcode = 'SF002',
      hint = 'Make sure that no other database issues ids of this shard, then run SELECT * FROM shardflake.confirm_identity().';
  end if;
end $$;

comment on function shardflake._check_identity() is
  'Raises SF002 if this is another cluster than the one in which the shard was armed.';

revoke execute on function shardflake._check_identity() from public;
