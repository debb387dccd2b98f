-- Installs the registry into the current database: psql -1 -v ON_ERROR_STOP=1 -f install.sql
-- It is apart from the generator: its own schema, its own version table, its own migrations.
\set ON_ERROR_STOP on
set local search_path = pg_catalog, pg_temp;

\ir schema.sql
\ir claim.sql
\ir retire.sql
\ir move.sql
\ir version.sql
