-- Says in which cluster the shard was armed. A constant of this shard, replaced by assign_shard().
create function shardflake._system_identifier() returns bigint
language sql stable parallel safe
return null::bigint;

comment on function shardflake._system_identifier() is
  'system_identifier of the cluster in which the shard was armed; NULL where pg_control_system() may not be called.';

revoke execute on function shardflake._system_identifier() from public;
