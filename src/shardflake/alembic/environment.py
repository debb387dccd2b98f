"""What the environments of ``migrations/`` share: everything in one transaction, one upgrade at a time per database."""

from __future__ import annotations

import os
from typing import Any

from alembic import context
from alembic.operations import Operations
from sqlalchemy import Connection

from shardflake import assets
from shardflake.alembic.scripts import VERSION_TABLE, execute_statement, execute_text
from shardflake.connect import LIMIT_LOCK_WAITS, make_engine


def run(schema: str, *, create: str, drop: str, lock_key: int) -> None:
    """Run the migrations of a schema, online or offline, as Alembic's context asks; call it from an ``env.py``.

    :param schema: holds what is installed, and the version table.
    :param create: SQL file whose first statement creates the schema if it is not there.
    :param drop: SQL file that drops what is left at ``base``.
    :param lock_key: of the advisory lock that lets one upgrade of a database wait for another; gone with the transaction.
    """
    options: dict[str, Any] = {
        "version_table": VERSION_TABLE,
        "version_table_schema": schema,
        "transactional_ddl": True,
    }

    def migrate(offline: bool) -> None:
        with context.begin_transaction():
            migration_context = context.get_context()
            changes = not migration_context.opts.get("dont_mutate")
            operations = Operations(migration_context)
            if changes:
                execute_statement(operations, LIMIT_LOCK_WAITS)
                execute_statement(operations, f"select pg_catalog.pg_advisory_xact_lock({lock_key:d})")
                execute_statement(operations, assets.statements(assets.read(create))[0])  # for the version table
            context.run_migrations()
            to_base = context.get_revision_argument() is None if offline else not migration_context.get_current_heads()
            if changes and to_base:
                execute_text(operations, assets.read(drop))

    def migrate_on(connection: Connection) -> None:
        context.configure(connection=connection, **options)
        migrate(offline=False)

    if context.is_offline_mode():
        context.configure(dialect_name="postgresql", literal_binds=True, dialect_opts={"paramstyle": "named"}, **options)
        migrate(offline=True)
        return
    given = context.config.attributes.get("connection")
    if isinstance(given, Connection):
        migrate_on(given)
        return
    url = context.get_x_argument(as_dictionary=True).get("url") or os.environ.get("SHARDFLAKE_URL")
    with (given or make_engine(url)).connect() as own:
        migrate_on(own)
