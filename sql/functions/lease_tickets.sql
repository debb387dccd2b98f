-- Leases consecutive numbers of a series. Commit at once: until then every other lease of the series waits. What the holder does
-- not use is a gap.
create function shardflake.lease_tickets(p_series text, p_count bigint, out first_number bigint, out increment bigint)
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  select t.first_number, t.increment into first_number, increment from shardflake._take_tickets(p_series, p_count, false) as t;
end $$;

comment on function shardflake.lease_tickets(text, bigint) is
  'Leases p_count (1 to 1000000) numbers: first_number, first_number + increment, ... They are the caller''s once this has committed. Locks the series until then.';

revoke execute on function shardflake.lease_tickets(text, bigint) from public;
