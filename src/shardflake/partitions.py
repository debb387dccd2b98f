"""Partitions by time of tables that are ``PARTITION BY RANGE (id)``: make them ahead, list them, detach the old ones."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from shardflake.connect import LIMIT_LOCK_WAITS, translate_errors
from shardflake.ids import min_id
from shardflake.install import _installed, _regclass, _require_table


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition, named as SQL names it, and the times of its ids: from ``start`` to before ``end``, UTC; None is open.

    ``detaching``: a DETACH CONCURRENTLY was cut off; :func:`detach` completes it.
    """

    name: str
    start: datetime | None
    end: datetime | None
    detaching: bool


def create(engine: sa.Engine, table: str, unit: str, *, ahead: int = 3, start: datetime | None = None) -> list[str]:
    """Create the partitions that are missing. Safe to run again, and by two at once; all or nothing.

    :param table: as SQL names it.
    :param unit: ``day`` or ``month``, UTC.
    :param ahead: how many after the present one, 0 to 1000.
    :param start: aware; the first partition is the one of this time. None: the present one.
    :returns: the names of those that are new.
    :raises PartitionError: if the table is not partitioned by ranges of a bigint, or something is in the way.
    """
    if start is not None:
        min_id(start)  # refuses a naive time, and one that ids cannot hold
    with _installed(engine) as connection:
        _require_table(connection, table)
        connection.execute(sa.text(LIMIT_LOCK_WAITS))
        call = sa.func.shardflake.create_partitions(
            _regclass(table), sa.cast(unit, sa.Text()), ahead, sa.cast(start, sa.DateTime(timezone=True))
        )
        made = sa.select(sa.cast(call, sa.Text()))
        return [str(name) for name in connection.scalars(made)]


def partitions(engine: sa.Engine, table: str) -> list[Partition]:
    """Return the partitions of a table, oldest first.

    :param table: as SQL names it.
    """
    with _installed(engine) as connection:
        _require_table(connection, table)
        return [
            Partition(row.name, _utc(row.from_time), _utc(row.until_time), row.detaching) for row in _rows(connection, table)
        ]


def detach(engine: sa.Engine, table: str, before: datetime, *, drop: bool = False) -> list[str]:
    """Detach the partitions that end at a time or earlier, oldest first; reads and writes go on meanwhile.

    Each is detached by itself (DETACH CONCURRENTLY), so that an interruption leaves the rest for the next run, which also
    completes one that was cut off. Ids of a standing foreign key are still checked: the server refuses what is referred to.

    :param table: as SQL names it.
    :param before: aware; what is detached holds no id of this time or later.
    :param drop: True drops each once it is detached; its rows are gone. False keeps it as a table of its own.
    :returns: the names of those detached.
    :raises ServerError: for one that cannot be detached, such as beside a default partition, which PostgreSQL does not allow.
    """
    limit = min_id(before)
    with _installed(engine) as connection:
        _require_table(connection, table)
        old = [row for row in _rows(connection, table) if row.until_id is not None and row.until_id <= limit]
        quoted_table = connection.scalar(sa.select(sa.cast(_regclass(table), sa.Text())))
    done = []
    for row in old:
        with translate_errors(), engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            # names come from regclass, which quotes them
            how = "finalize" if row.detaching else "concurrently"
            connection.exec_driver_sql(f"alter table {quoted_table} detach partition {row.name} {how}")
            if drop:
                connection.exec_driver_sql(f"drop table {row.name}")
        done.append(row.name)
    return done


def _rows(connection: sa.Connection, table: str) -> list[Any]:
    query = "select cast(partition as text) as name, * from shardflake.partitions(cast(:table_name as regclass))"
    return list(connection.execute(sa.text(query), {"table_name": table}))


def _utc(time: datetime | None) -> datetime | None:
    return time.astimezone(UTC) if time is not None else None
