-- The registry: which shard ids of a fleet were handed out, and to which database. One database of the fleet's choice holds it.

do $$
begin
  if to_regnamespace('shardflake_registry') is null then  -- a role that owns the schema need not be allowed to create schemas
    create schema shardflake_registry;
  end if;
end $$;

comment on schema shardflake_registry is
  'shardflake: hands out shard ids, records who holds them, and never gives away a retired one again.';

create table shardflake_registry.shard (
  shard_id integer primary key check (shard_id between 0 and 8191),
  name text not null,
  logical boolean not null default false,
  system_identifier bigint,
  database_oid oid not null,
  database_name text not null,
  claimed_at timestamptz not null default now(),
  retired_at timestamptz
);

create unique index shard_name on shardflake_registry.shard (name) where retired_at is null and not logical;

comment on table shardflake_registry.shard is
  'A row for each shard id ever handed out; retired_at is null while it is held. logical: further ids that the database issues. Never delete a row: its ids are in tables and backups.';
