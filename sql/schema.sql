-- State of the generator: every object that next_id() reads or writes, and nothing of any one shard.

do $$
begin
  if to_regnamespace('shardflake') is null then  -- a role that owns the schema need not be allowed to create schemas
    create schema shardflake;
  end if;
end $$;

comment on schema shardflake is
  'shardflake: 64-bit, time-ordered ids made inside this shard. Objects whose names start with _ are private.';

-- tick << _window_bits() | counter of the last draw. Unlogged: a draw writes no WAL; after a crash it restarts at 0 and the mark takes over.
create unlogged sequence shardflake._window as bigint minvalue 0 start 0 cache 1;

comment on sequence shardflake._window is
  'The last draw: ticks since the epoch << shardflake._window_bits() | counter. Never move it by hand: the next window would refuse.';

-- No id passes this tick before the mark has been raised and made durable. Logged, and is_called from the start.
create sequence shardflake._high_water as bigint minvalue 0 start 0 cache 1;

select pg_catalog.setval('shardflake._high_water', 0);

comment on sequence shardflake._high_water is
  'High-water mark, ticks since the epoch: every id ever issued lies below it, whatever crashes. Never lower it.';

-- pg_postmaster_start_time() in µs when a window was last opened: tells a restart or a promotion from plain running.
create unlogged sequence shardflake._incarnation as bigint minvalue 0 start 0 cache 1;

comment on sequence shardflake._incarnation is
  'Start time of the server, µs since 1970, under which the last window was opened.';

-- Tick of the last window opened: a _window below it was moved by hand.
create unlogged sequence shardflake._opened as bigint minvalue 0 start 0 cache 1;

comment on sequence shardflake._opened is
  'Tick of the last window that was opened, counted from the epoch.';

-- Written only when a window was busier than any before it; read by status().
create unlogged sequence shardflake._peak as bigint minvalue 0 start 0 cache 1;

comment on sequence shardflake._peak is
  'Highest rate since the server started, ids per millisecond, averaged over one window.';

-- Truncated inside an aborted subtransaction to make PostgreSQL 15 and 16 flush their WAL; always empty.
create table shardflake._flush (filler text) with (fillfactor = 10, autovacuum_enabled = false);

alter table shardflake._flush alter column filler set storage plain;

comment on table shardflake._flush is
  'Always empty. Truncating it is how the generator flushes WAL on PostgreSQL 15 and 16; see shardflake._flush_wal().';
