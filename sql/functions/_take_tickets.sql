-- Takes numbers of a series, for whoever may: locks the series' row until the transaction ends.
create function shardflake._take_tickets(p_series text, p_count bigint, p_gap_free boolean, out first_number bigint, out increment bigint)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_series record;
begin
  if p_count is null or p_count not between 1 and 1000000 then
    raise exception 'cannot take % tickets at once', coalesce(p_count::text, 'NULL') using
      errcode = 'SF033', hint = 'Take 1 to 1000000 at a time.';
  end if;
  perform shardflake._check_original('the tickets');
  perform shardflake._commit_durably();
  select * into v_series from shardflake._ticket t where t.series = p_series for update;
  if not found or v_series.gap_free <> p_gap_free then
    raise exception 'there is no series % of this kind', coalesce(quote_literal(p_series), 'NULL') using
      errcode = 'SF033',
      hint = 'Start it with SELECT shardflake.create_tickets(name); gap-free ones are numbered by next_invoice_number(), others by lease_tickets().';
  end if;
  first_number := v_series.next_number;
  increment := v_series.increment;
  if v_series.incarnation <> shardflake._incarnation_name() then  -- in whole steps: odd numbers stay odd
    first_number := first_number + (v_series.failover_skip + increment - 1) / increment * increment;
  end if;
  if first_number > v_series.last_number - (p_count - 1) * increment then
    raise exception 'series % ends at %: % numbers from % are not left', quote_literal(p_series), v_series.last_number, p_count, first_number using
      errcode = 'SF033', hint = 'Take fewer, or go on with a new series.';
  end if;
  update shardflake._ticket t set next_number = first_number + p_count * v_series.increment, incarnation = shardflake._incarnation_name()
   where t.series = p_series;
end $$;

comment on function shardflake._take_tickets(text, bigint, boolean) is
  'Takes p_count numbers of a series. Private: lease_tickets() and next_invoice_number() call it.';

revoke execute on function shardflake._take_tickets(text, bigint, boolean) from public;
