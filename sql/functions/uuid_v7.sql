-- Returns a UUIDv7 that is larger than the last one of this session, whatever the clock does.
-- RFC 9562, 6.2, method 3: 48 bits of milliseconds and, in rand_a, 12 of their fraction: µs * 4096 / 1000 as one number. A clock that
-- stands or goes back finds that number plus one. It is kept in a setting, which any role may write, and on standbys too.
-- The version goes between the two; the variant and the 62 random bits are those of a UUIDv4, its last 17 characters.
create function shardflake.uuid_v7() returns uuid
language sql volatile parallel unsafe
return overlay(
  gen_random_uuid()::text placing overlay(
    lpad(to_hex(set_config('shardflake._uuid_v7',
      greatest(shardflake._unix_us() * 512 / 125, coalesce(nullif(current_setting('shardflake._uuid_v7', true), '')::bigint, 0) + 1)::text,
      false)::bigint), 15, '0') placing '7' from 13 for 0)
  from 1 for 18)::uuid;

comment on function shardflake.uuid_v7() is
  'A UUIDv7 (RFC 9562), larger than every one that this session drew and did not roll back. A fallback for PostgreSQL 15 to 17, the same on 18, whose own uuidv7() is faster and the better choice there.';
