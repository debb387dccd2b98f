"""Runs the migrations of schema shardflake: all of them in one transaction, one upgrade at a time per database.

The connection comes from ``config.attributes["connection"]`` (a connection or an engine), else from ``-x url=...``, else from
SHARDFLAKE_URL, else from libpq's PG* environment.
"""

import os
from typing import Any

from alembic import context
from alembic.operations import Operations
from sqlalchemy import Connection

from shardflake import assets
from shardflake.alembic.scripts import VERSION_TABLE, execute_statement, execute_text
from shardflake.connect import LIMIT_LOCK_WAITS, make_engine

# One key per database: the lock is gone with the transaction. 1936287346 is "shr2" in ASCII, the generator's own is per object.
_ONE_UPGRADE_AT_A_TIME = "select pg_catalog.pg_advisory_xact_lock(1936287346)"
_OPTIONS: dict[str, Any] = {
    "version_table": VERSION_TABLE,
    "version_table_schema": "shardflake",
    "transactional_ddl": True,
}


def _run(offline: bool) -> None:
    with context.begin_transaction():
        migration_context = context.get_context()
        changes = not migration_context.opts.get("dont_mutate")
        operations = Operations(migration_context)
        if changes:
            execute_statement(operations, LIMIT_LOCK_WAITS)
            execute_statement(operations, _ONE_UPGRADE_AT_A_TIME)
            execute_statement(operations, assets.statements(assets.read("schema.sql"))[0])  # for the version table
        context.run_migrations()
        to_base = context.get_revision_argument() is None if offline else not migration_context.get_current_heads()
        if changes and to_base:
            execute_text(operations, assets.read("drop_schema.sql"))


def _run_on(connection: Connection) -> None:
    context.configure(connection=connection, **_OPTIONS)
    _run(offline=False)


def _run_online() -> None:
    given = context.config.attributes.get("connection")
    if isinstance(given, Connection):
        _run_on(given)
        return
    url = context.get_x_argument(as_dictionary=True).get("url") or os.environ.get("SHARDFLAKE_URL")
    with (given or make_engine(url)).connect() as own:
        _run_on(own)


if context.is_offline_mode():
    context.configure(dialect_name="postgresql", literal_binds=True, dialect_opts={"paramstyle": "named"}, **_OPTIONS)
    _run(offline=True)
else:
    _run_online()
