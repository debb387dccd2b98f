-- Refuses to give out anything from a copy of this shard, or from a database that is no shard yet.
create function shardflake._check_original(p_what text) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
  perform coalesce(shardflake.shard_id(), shardflake._no_shard());
  if pg_relation_filepath('shardflake._window') is distinct from shardflake._window_file() then
    raise exception '% of shard % in database "%" are a copy', p_what, shardflake.shard_id(), current_database() using
      errcode = 'SF002',
      hint = 'If this database is to go on as this shard and no other does, run SELECT * FROM shardflake.confirm_identity().';
  end if;
  perform shardflake._check_identity();
end $$;

comment on function shardflake._check_original(text) is
  'Raises SF001 for a database without a shard id, SF002 for a copy of one; p_what, such as "the leases", is for the message.';

revoke execute on function shardflake._check_original(text) from public;
