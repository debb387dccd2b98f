-- Returns the 128 bits of a ULID as a uuid; refuses a text that is not written the one way that uuid_to_ulid() writes it.
create function shardflake.ulid_to_uuid(p_ulid text) returns uuid
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_digits constant text := '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
  v_canonical constant text := translate(upper(p_ulid collate "C"), 'ILO', '110');
  v_bits bit varying := '';
begin
  if length(p_ulid) <> 26 then
    raise exception '''%'' is not a ULID: it has % characters, not 26', left(p_ulid, 64), length(p_ulid) using
      errcode = 'SF011', hint = 'A ULID is written as 26 characters of Crockford''s base 32.';
  elsif translate(v_canonical, v_digits, '') <> '' then
    raise exception '''%'' is not a ULID: ''%'' is not one of %', p_ulid, left(translate(p_ulid, v_digits, ''), 1), v_digits using
      errcode = 'SF011', hint = 'A ULID is written as 26 characters of Crockford''s base 32.';
  elsif p_ulid <> v_canonical then
    raise exception '''%'' is not a ULID as it must be written: write ''%''', p_ulid, v_canonical using
      errcode = 'SF011', hint = 'Lower case, I, L and O would be a second spelling of another ULID.';
  elsif left(p_ulid, 1) > '7' collate "C" then
    raise exception '''%'' is not a ULID: the largest is 7ZZZZZZZZZZZZZZZZZZZZZZZZZ, of 128 bits', p_ulid using
      errcode = 'SF011', hint = 'Check where the text comes from: the first character is 0 to 7.';
  end if;
  for v_place in 1 .. 26 loop
    v_bits := v_bits || (strpos(v_digits, substr(p_ulid, v_place, 1)) - 1)::bit(5);
  end loop;
  return lpad(to_hex(substring(v_bits from 3 for 64)::bit(64)::bigint), 16, '0') || lpad(to_hex(substring(v_bits from 67)::bit(64)::bigint), 16, '0');
end $$;

comment on function shardflake.ulid_to_uuid(text) is
  'The 128 bits of a ULID as a uuid, 16 bytes in place of 27; both sort alike. SF011 for another length or character, for lower case, I, L and O, and above 128 bits.';
