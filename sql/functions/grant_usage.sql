-- Lets a role insert into tables whose ids come from this generator, and nothing more: USAGE on a sequence does not allow setval().
create function shardflake.grant_usage(p_role regrole) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
  execute format('grant usage on schema shardflake to %s', p_role);
  execute format('grant usage on sequence shardflake._window to %s', p_role);
  execute format(
    'grant execute on function shardflake.next_id(), shardflake.next_id(integer), shardflake.next_ids(integer), '
    'shardflake.shard_id(), shardflake.status(), shardflake._logical_shards(), shardflake._tick(), shardflake._draw(), '
    'shardflake._is_due(bigint), shardflake._last_draw(), shardflake._shard_shift(), '
    'shardflake._time_shift(), shardflake._counter_bits(), shardflake._counter_shift(), '
    'shardflake._window_file(), shardflake._is_window_file(text), '
    'shardflake._open_window(integer), shardflake._no_shard(), shardflake._refuse_shard(integer) to %s', p_role);
end $$;

comment on function shardflake.grant_usage(regrole) is
  'Grants p_role what INSERT needs to draw ids: USAGE on the schema and on _window, EXECUTE on the generator. No role but the owner can move its state.';

revoke execute on function shardflake.grant_usage(regrole) from public;
