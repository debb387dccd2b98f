"""The operation ``op.create_partitions()`` for an application's own migrations."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from alembic.operations import MigrateOperation, Operations
from sqlalchemy.dialects.postgresql import REGCLASS

from shardflake.alembic.operations import DIALECT, _execute_literally, _text
from shardflake.ids import min_id


@Operations.register_operation("create_partitions")
class CreatePartitionsOp(MigrateOperation):
    """Create the partitions of a table by time; dropping the table is the way back."""

    def __init__(self, table_name: str, unit: str, *, schema: str | None, ahead: int, start: datetime | None) -> None:
        self.table_name = table_name
        self.unit = unit
        self.schema = schema
        self.ahead = ahead
        self.start = start

    @classmethod
    def create_partitions(
        cls,
        operations: Operations,
        table_name: str,
        unit: str,
        *,
        schema: str | None = None,
        ahead: int = 3,
        start: datetime | None = None,
    ) -> None:
        """Call ``shardflake.create_partitions()``; what a later day needs is for cron, not for migrations.

        :param table_name: the table, unquoted; created with ``postgresql_partition_by="RANGE (id)"``.
        :param unit: ``day`` or ``month``, UTC.
        :param schema: the table's schema; without it, the search path decides.
        :param ahead: how many partitions after the present one, 0 to 1000.
        :param start: aware; the first partition is the one of this time. None: the present one when the migration runs.
        :raises InvalidIdError: for a naive time, or one that ids cannot hold.
        """
        if start is not None:
            min_id(start)
        operations.invoke(cls(table_name, unit, schema=schema, ahead=ahead, start=start))


@Operations.implementation_for(CreatePartitionsOp)
def _create_partitions(operations: Operations, operation: CreatePartitionsOp) -> None:
    table = DIALECT.identifier_preparer.format_table(sa.table(operation.table_name, schema=operation.schema))
    start = sa.null() if operation.start is None else sa.cast(_text(operation.start.isoformat()), sa.DateTime(timezone=True))
    call = sa.func.shardflake.create_partitions(
        sa.cast(_text(table), REGCLASS), _text(operation.unit), sa.literal(operation.ahead), start
    )
    _execute_literally(operations, sa.select(call))
