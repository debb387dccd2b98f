-- State of the backfill: how far the ids of imported rows have come.

create table shardflake._backfill (
  shard_id integer primary key,
  owner integer not null,
  last_id bigint,
  last_time timestamptz
);

comment on table shardflake._backfill is
  'A row per shard id reserved for imported rows: its last id, and the time asked for with it. Logged, so that it commits, rolls back and is lost with the rows. owner: the shard id that this database had. Never lower it, never delete a row.';
