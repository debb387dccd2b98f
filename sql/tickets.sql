-- State of the ticket series: short, consecutive numbers, such as those of orders and invoices.

create table shardflake._ticket (
  series text primary key,
  next_number bigint not null,
  last_number bigint not null,
  increment bigint not null,
  gap_free boolean not null,
  failover_skip bigint not null,
  incarnation text not null
) with (fillfactor = 10);

comment on table shardflake._ticket is
  'A row per series of tickets: the next number to give out, the last one there is, and the step between numbers. fillfactor 10 keeps its updates in one page.';
