-- Says which shard ids are reserved for worker leases. A constant of this shard, replaced by reserve_worker_ids().
create function shardflake._worker_range() returns int4range
language sql stable parallel safe
return 'empty'::int4range;

comment on function shardflake._worker_range() is
  'Shard ids reserved for worker leases, which this database may not have as its own. Replaced by shardflake.reserve_worker_ids().';

revoke execute on function shardflake._worker_range() from public;
