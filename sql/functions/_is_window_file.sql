-- Says whether _window still has the file that it had when the shard was armed.
-- IMMUTABLE on purpose, though it looks at the catalog: the planner then evaluates it once a plan, at no cost a row. A session of a
-- copy plans in the copy, so that it can never draw from a copied window. Its argument comes from _window_file(), which is
-- inlined: a plan remembers that it depends on it, and an ALTER of _window or a new arming makes every plan anew.
create function shardflake._is_window_file(p_file text) returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return pg_relation_filepath('shardflake._window') is not distinct from p_file;
end $$;

comment on function shardflake._is_window_file(text) is
  'Whether shardflake._window is the file p_file. Private, evaluated when the generator''s expression is planned.';

revoke execute on function shardflake._is_window_file(text) from public;
