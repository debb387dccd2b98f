-- Lists the shard ids that this database may issue or ever might: its generator has used up their past times.
-- A constant of this shard, replaced by _set_logical_shards().
create function shardflake._issued_shards() returns integer[]
language sql stable parallel safe
return '{}'::integer[];

comment on function shardflake._issued_shards() is
  'Shard ids this database may issue, or could before: no id of theirs may be made for a past time. Replaced by shardflake._set_logical_shards().';

revoke execute on function shardflake._issued_shards() from public;
