-- Refuses to issue an id for a database that is no shard yet.
-- VOLATILE, so that the planner does not call it while it folds the coalesce() around shard_id().
create function shardflake._no_shard() returns integer
language plpgsql volatile parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'database "%" has no shard id yet', current_database() using
    errcode = 'SF001',
    hint = format('Run SELECT shardflake.assign_shard(N) once, with an N from 0 to %s that no other shard uses.', (1 << shardflake._shard_bits()) - 1);
end $$;

comment on function shardflake._no_shard() is
  'Raises SF001: the database has no shard id yet.';

revoke execute on function shardflake._no_shard() from public;
