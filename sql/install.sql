-- Installs shardflake into the current database: psql -1 -v ON_ERROR_STOP=1 -f install.sql
-- Needs CREATE on the database, or a schema "shardflake" that the role owns. Then: SELECT shardflake.assign_shard(N);
-- The order is that of dependencies; migrations and tests read it from here.
\set ON_ERROR_STOP on
set local search_path = pg_catalog, pg_temp;

\ir schema.sql
\ir functions/epoch_ms.sql
\ir functions/shard_id.sql
\ir functions/_logical_shards.sql
\ir functions/_max_lead.sql
\ir functions/_window_file.sql
\ir functions/_system_identifier.sql
\ir functions/timestamp_of.sql
\ir functions/shard_of.sql
\ir functions/counter_of.sql
\ir functions/decode.sql
\ir functions/_tick_at.sql
\ir functions/min_id.sql
\ir functions/max_id.sql
\ir functions/make_id.sql
\ir functions/_tick.sql
\ir functions/_no_shard.sql
\ir functions/_refuse_shard.sql
\ir functions/_check_identity.sql
\ir functions/_flush_wal.sql
\ir functions/_open_window.sql
\ir functions/_is_window_file.sql
\ir functions/_draw.sql
\ir functions/next_id.sql
\ir functions/next_id_of_shard.sql
\ir functions/next_ids.sql
\ir functions/id_columns.sql
\ir functions/_arm.sql
\ir functions/assign_shard.sql
\ir functions/confirm_identity.sql
\ir functions/status.sql
\ir functions/grant_usage.sql
\ir functions/_check_id_column.sql
\ir functions/set_id_default.sql
\ir functions/drop_id_default.sql
\ir functions/_drawers.sql
\ir functions/feed_horizon.sql
\ir functions/partitions.sql
\ir functions/create_partitions.sql
\ir version.sql
