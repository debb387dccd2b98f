-- Removes shardflake from the current database: psql -1 -v ON_ERROR_STOP=1 -f uninstall.sql
-- Refuses, with a list, while a column default, view or function outside the schema uses it. Ids in tables stay as they are.
\set ON_ERROR_STOP on
set local search_path = pg_catalog, pg_temp;

\ir drop_backfill.sql
\ir drop_tickets.sql
\ir drop_workers.sql
\ir drop.sql
\ir drop_schema.sql
