-- Says how far ids may run ahead of a clock that was set back. A constant of this shard, replaced by assign_shard().
create function shardflake._max_lead() returns bigint
language sql stable parallel safe
return 10000::bigint;

comment on function shardflake._max_lead() is
  'How far ids may run ahead of the clock, ms. Replaced by shardflake.assign_shard().';

revoke execute on function shardflake._max_lead() from public;
