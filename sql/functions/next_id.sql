-- Returns an id that is unique, and larger than every id drawn before it in this database.
-- shard_id() goes through coalesce(): the planner would fold a plain "| NULL" and call nothing.
create function shardflake.next_id() returns bigint
language sql volatile parallel unsafe
return (coalesce(shardflake.shard_id(), shardflake._no_shard())::bigint << shardflake._shard_shift()) | shardflake._draw();

comment on function shardflake.next_id() is
  'One id of this database''s shard: unique, and larger than every id drawn before it here. Raises SF001 to SF006.';

revoke execute on function shardflake.next_id() from public;
