-- Drops the ticket series. How far they have come is forgotten: SELECT * FROM shardflake.tickets() shows it before.

drop function
  shardflake.grant_ticket_usage(regrole), shardflake.tickets(), shardflake.next_invoice_number(text), shardflake.lease_tickets(text, bigint),
  shardflake._take_tickets(text, bigint, boolean), shardflake.create_tickets(text, bigint, bigint, bigint, boolean, bigint);

drop table shardflake._ticket;
