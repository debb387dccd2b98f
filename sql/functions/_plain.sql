-- Says whether a draw, with the shard id put in, is an id as it stands: the fields in order, and as wide as the window's. A constant of this shard, written by _set_layout().
create function shardflake._plain() returns boolean
language sql stable parallel safe
return true;

comment on function shardflake._plain() is
  'Whether a draw needs no rearranging to become an id. Replaced by shardflake._set_layout().';

revoke execute on function shardflake._plain() from public;
