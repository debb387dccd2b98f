-- Says which layout this database's ids have. A constant of this shard, written by _set_layout().
create function shardflake._layout() returns text
language sql stable parallel safe
return 'shardflake 41/13/10'::text;

comment on function shardflake._layout() is
  'Name and widths of the layout of this database''s ids. Replaced by shardflake._set_layout().';

revoke execute on function shardflake._layout() from public;
