-- What contenders need beside PostgreSQL's own functions. Loaded into the benchmark's scratch schema only.

create table shardflake_bench.tickets (next bigint not null);

insert into shardflake_bench.tickets values (1);

-- Keys from a block of 1,000 that the session leases from one row; what is left of a block is lost with the session.
create function shardflake_bench.ticket() returns bigint
language plpgsql
as $$
declare
  v_next bigint := nullif(current_setting('shardflake_bench.ticket', true), '');
begin
  if v_next is null or v_next % 1000 = 1 then
    update shardflake_bench.tickets set next = next + 1000 returning next - 1000 into v_next;
  end if;
  perform set_config('shardflake_bench.ticket', (v_next + 1)::text, false);
  return v_next;
end $$;

-- 48 bits of milliseconds, then chance; the caller sets what else there is.
create function shardflake_bench.ulid() returns uuid
language sql volatile
return overlay(
  gen_random_uuid()::text placing
  regexp_replace(lpad(to_hex(floor(date_part('epoch', clock_timestamp()) * 1000)::bigint), 12, '0'), '^(.{8})', '\1-') from 1 for 13
)::uuid;

create function shardflake_bench.uuid7_ms() returns uuid
language sql volatile
return overlay(shardflake_bench.ulid()::text placing '7' from 15 for 1)::uuid;

-- The built-in function from PostgreSQL 18; before, the same fields: milliseconds, 12 bits below them, chance.
do $$
begin
  if current_setting('server_version_num')::integer >= 180000 then
    create function shardflake_bench.uuid7() returns uuid language sql volatile return uuidv7();
  else
    create function shardflake_bench.uuid7_at(p_us bigint) returns uuid
    language sql volatile
    return overlay(gen_random_uuid()::text placing
      regexp_replace(lpad(to_hex(p_us / 1000), 12, '0'), '^(.{8})', '\1-') || '-7' || lpad(to_hex(p_us % 1000 * 4096 / 1000), 3, '0')
      from 1 for 18)::uuid;
    create function shardflake_bench.uuid7() returns uuid
    language sql volatile
    return shardflake_bench.uuid7_at(floor(date_part('epoch', clock_timestamp()) * 1000000)::bigint);
  end if;
end $$;

create function shardflake_bench.ulid_text() returns text
language sql volatile
return (
  with bits as (select '00' || ('x' || replace(shardflake_bench.ulid()::text, '-', ''))::bit(128)::text as b)
  select string_agg(
           substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(b, n * 5 + 1, 5)::bit(5)::integer + 1, 1), '' order by n)
    from bits, generate_series(0, 25) as n
);
