"""COPY with ids that are filled in here, instead of by the column's default on the server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import psycopg
from psycopg import sql

from shardflake.pools.threaded import IdPool

_BATCH = 1000  # rows that take their ids at once: a lock each would cost more than the id


def copy_rows(
    connection: psycopg.Connection[Any],
    table: str | Sequence[str],
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    pool: IdPool,
    *,
    id_column: str = "id",
) -> int:
    """Load rows by COPY, each with an id of the pool in front, within the connection's transaction.

    :param connection: of psycopg.
    :param table: its name, unquoted; a pair for one of a schema.
    :param columns: the columns of ``rows``, unquoted, without the id.
    :param rows: a sequence of values for each row.
    :param pool: where the ids come from.
    :param id_column: the column that takes the ids.
    :returns: how many rows were loaded.
    :raises ShardflakeError: if the pool cannot lease; nothing is loaded then.
    """
    name = sql.Identifier(table) if isinstance(table, str) else sql.Identifier(*table)
    names = sql.SQL(", ").join(map(sql.Identifier, (id_column, *columns)))
    loaded = 0
    with connection.cursor() as cursor, cursor.copy(sql.SQL("copy {} ({}) from stdin").format(name, names)) as copy:
        iterator = iter(rows)
        while batch := list(islice(iterator, _BATCH)):
            for value, row in zip(pool.next_ids(len(batch)), batch, strict=True):
                copy.write_row((value, *row))
            loaded += len(batch)
    return loaded
