-- Says which file _window had when the shard was armed. A constant of this shard, replaced by assign_shard().
-- CREATE DATABASE ... TEMPLATE copies live state and ALTER SEQUENCE bakes it into the init fork; both change the path.
create function shardflake._window_file() returns text
language sql stable parallel safe
return null::text;

comment on function shardflake._window_file() is
  'pg_relation_filepath() of shardflake._window when the shard was armed; another path means a copy or an ALTER.';

revoke execute on function shardflake._window_file() from public;
