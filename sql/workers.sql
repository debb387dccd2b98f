-- State of the worker leases: who may issue ids of which worker, until when, and up to which time it may have done so.

create table shardflake._worker (
  worker_id integer primary key,
  holder text not null,
  token uuid not null,
  claimed_at timestamptz not null,
  renewed_at timestamptz not null,
  expires_at timestamptz not null,
  floor bigint not null,
  high_water bigint not null
);

comment on table shardflake._worker is
  'A row per worker id ever claimed. Its holder may issue ids of times after floor up to high_water, milliseconds since 1970; no holder before it has passed floor. Never lower it, never delete a row.';

create table shardflake._worker_terms (
  id boolean primary key default true check (id),
  ttl interval not null,
  incarnation text not null,
  since timestamptz not null
);

comment on table shardflake._worker_terms is
  'One row: how long a lease lasts, and since when which incarnation of the database has been giving them. Locked by each claim.';
