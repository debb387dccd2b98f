"""op.create_partitions() in an application's own history, online and offline."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext

import shardflake.alembic  # noqa: F401  (registers the operations)
from shardflake.errors import InvalidIdError
from shardflake.sqlalchemy import id_column


def create(operations: Operations) -> None:
    operations.execute('create schema "My Shop"')
    operations.create_table("Order Items", id_column(), schema="My Shop", postgresql_partition_by="RANGE (id)")
    operations.create_partitions(  # type: ignore[attr-defined]
        "Order Items", "month", schema="My Shop", ahead=0, start=datetime(2026, 1, 1, tzinfo=UTC)
    )


def test_the_operation_makes_partitions(shard: sa.Engine) -> None:
    with shard.begin() as connection:
        create(Operations(MigrationContext.configure(connection)))
        first = connection.scalar(
            sa.text('select min(partition::text) from shardflake.partitions(\'"My Shop"."Order Items"\')')
        )
        assert first == '"My Shop"."Order Items_p202601"'


def test_the_offline_script_does_the_same(shard: sa.Engine) -> None:
    script = io.StringIO()
    options = {"as_sql": True, "output_buffer": script, "literal_binds": True}
    create(Operations(MigrationContext.configure(dialect_name="postgresql", opts=options)))
    with shard.begin() as connection:
        connection.exec_driver_sql(script.getvalue())
        inspector = sa.inspect(connection)
        assert "Order Items_p202601" in inspector.get_table_names("My Shop")


def test_a_naive_time_is_refused() -> None:
    operations = Operations(MigrationContext.configure(dialect_name="postgresql", opts={"as_sql": True}))
    with pytest.raises(InvalidIdError, match="no time zone"):
        operations.create_partitions("orders", "day", start=datetime(2026, 1, 1))  # type: ignore[attr-defined]
