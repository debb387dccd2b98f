-- Returns 128 bits, given as a uuid, in the 26 characters of a ULID; any uuid has them.
create function shardflake.uuid_to_ulid(p_uuid uuid) returns text
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hex constant text := replace(p_uuid::text, '-', '');
  v_ms constant bigint := ('x' || left(v_hex, 12))::bit(48)::bigint;
  v_high constant bigint := ('x' || substr(v_hex, 13, 10))::bit(40)::bigint;
  v_low constant bigint := ('x' || right(v_hex, 10))::bit(40)::bigint;
begin
  return right(shardflake._base32(v_ms >> 40), 2) || shardflake._base32(v_ms) || shardflake._base32(v_high) || shardflake._base32(v_low);
end $$;

comment on function shardflake.uuid_to_ulid(uuid) is
  'The 128 bits of p_uuid as a ULID; the reverse of ulid_to_uuid(). Both sort alike.';
