-- Says which shard this database is. A constant of this shard, replaced by assign_shard().
-- STABLE, not IMMUTABLE, like every constant of a shard: the planner inlines it and remembers the dependency, so that a
-- prepared statement follows a change; an IMMUTABLE one would be evaluated away and live on in old plans.
create function shardflake.shard_id() returns integer
language sql stable parallel safe
return null::integer;

comment on function shardflake.shard_id() is
  'Shard id of this database, 0 to 8191; NULL until shardflake.assign_shard() has run.';

revoke execute on function shardflake.shard_id() from public;
