-- Returns the next number of a gap-free series, as part of the caller's transaction: a rollback gives it back. The price is the lock:
-- from this call to the end of the transaction, every other transaction that wants a number of the series waits.
create function shardflake.next_invoice_number(p_series text) returns bigint
language plpgsql volatile parallel unsafe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return (select t.first_number from shardflake._take_tickets(p_series, 1, true) as t);
end $$;

comment on function shardflake.next_invoice_number(text) is
  'Next number of a gap-free series. Locks the series'' row until the transaction ends, so that transactions that number invoices run one after the other; a rollback gives the number back. Call it last, right before the commit.';

revoke execute on function shardflake.next_invoice_number(text) from public;
