-- Starts a series of tickets. Two databases share one by odd and even numbers (first_number 1 and 2, increment 2), or by ranges.
create function shardflake.create_tickets(
  p_series text,
  first_number bigint default 1,
  increment bigint default 1,
  last_number bigint default 9223372036854775807,
  gap_free boolean default false,
  failover_skip bigint default 100000
) returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_series is null or length(p_series) not between 1 and 200 then
    raise exception 'series % is not a name of 1 to 200 characters', coalesce(quote_literal(left(p_series, 200)), 'NULL') using
      errcode = 'SF033', hint = 'Name the series after what it numbers, such as ''invoice''.';
  end if;
  if (first_number between 0 and last_number and increment between 1 and 1000 and failover_skip between 0 and 1000000000000) is not true then
    raise exception 'no series starts at %, ends at %, steps by % and skips %', first_number, last_number, increment, failover_skip using
      errcode = 'SF033', hint = 'Start at 0 or more, end no earlier, step by 1 to 1000, skip 0 to 10^12 numbers after a failover.';
  end if;
  perform coalesce(shardflake.shard_id(), shardflake._no_shard());
  perform shardflake._commit_durably();
  insert into shardflake._ticket
  values (p_series, first_number, last_number, increment, gap_free, case when gap_free then 0 else failover_skip end, shardflake._incarnation_name());
exception when unique_violation then
  raise exception 'there is a series % already', quote_literal(p_series) using
    errcode = 'SF033', hint = 'Use it as it is, or choose another name.';
end $$;

comment on function shardflake.create_tickets(text, bigint, bigint, bigint, boolean, bigint) is
  'Starts a series of numbers first_number, first_number + increment, ... up to last_number. gap_free: by next_invoice_number() alone. failover_skip: how many numbers to leave out after a failover, which may have forgotten the last blocks. SF033 for a name that is taken.';

revoke execute on function shardflake.create_tickets(text, bigint, bigint, bigint, boolean, bigint) from public;
