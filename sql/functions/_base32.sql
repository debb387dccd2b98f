-- Returns the lowest 40 bits of a number as 8 characters of Crockford's base 32.
create function shardflake._base32(p_value bigint) returns text
language sql immutable strict parallel safe
return substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (p_value >> 35 & 31)::integer + 1, 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (p_value >> 30 & 31)::integer + 1, 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (p_value >> 25 & 31)::integer + 1, 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (p_value >> 20 & 31)::integer + 1, 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (p_value >> 15 & 31)::integer + 1, 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (p_value >> 10 & 31)::integer + 1, 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (p_value >> 5 & 31)::integer + 1, 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (p_value & 31)::integer + 1, 1);

comment on function shardflake._base32(bigint) is
  'The lowest 40 bits of p_value, as 8 characters of Crockford''s base 32.';
