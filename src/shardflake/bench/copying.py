"""PostgreSQL's binary COPY format, both ways, by whole arrays: the client must not be what limits a load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import psycopg
from psycopg import sql

from shardflake.bench.keys import Keys
from shardflake.errors import ResultsError

_HEAD = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TAIL = b"\xff\xff"
_PIECE = 1 << 20


def encode(columns: Sequence[Keys | bytes], count: int) -> bytes:
    """Return the rows of a binary COPY, without its head and tail.

    :param columns: an int64 or int32 array, rows of bytes, or one value for all rows.
    """
    fields: list[tuple[str, str]] = [("fields", ">i2")]
    for number, column in enumerate(columns):
        width = (
            len(column) if isinstance(column, bytes) else column.dtype.itemsize * (column.shape[1] if column.ndim > 1 else 1)
        )
        fields += [(f"length{number}", ">i4"), (f"value{number}", f"V{width}")]
    rows = np.zeros(count, dtype=np.dtype(fields))
    rows["fields"] = len(columns)
    for number, column in enumerate(columns):
        rows[f"length{number}"] = rows.dtype[f"value{number}"].itemsize
        if isinstance(column, bytes):
            rows[f"value{number}"] = np.void(column)
        elif column.ndim == 1:
            rows[f"value{number}"] = column.astype(column.dtype.newbyteorder(">")).view(f"V{column.dtype.itemsize}")
        else:
            rows[f"value{number}"] = np.ascontiguousarray(column).view(f"V{column.shape[1]}").ravel()
    return rows.tobytes()


def load(connection: psycopg.Connection, table: sql.Composable, names: Sequence[str], rows: bytes) -> None:
    """COPY rows of :func:`encode` into columns of a table."""
    columns = sql.SQL(", ").join(map(sql.Identifier, names))
    with (
        connection.cursor() as cursor,
        cursor.copy(sql.SQL("copy {} ({}) from stdin (format binary)").format(table, columns)) as stream,
    ):
        stream.write(_HEAD)
        for offset in range(0, len(rows), _PIECE):
            stream.write(rows[offset : offset + _PIECE])
        stream.write(_TAIL)


def fetch(connection: psycopg.Connection, query: sql.Composable) -> Keys:
    """Return one column of a query: an int64 array, or rows of bytes, which must all have one length.

    :raises ResultsError: values of different lengths, or NULL.
    """
    data = b"".join(_copied(connection, query))
    body = data[len(_HEAD) : -len(_TAIL)]
    width = int.from_bytes(body[2:6], "big", signed=True)
    if width <= 0 or len(body) % (6 + width):
        raise ResultsError("keys must all have one length and not be NULL; keys of varying length are not supported")
    rows = np.frombuffer(body, dtype=np.dtype([("fields", ">i2"), ("length", ">i4"), ("value", f"V{width}")]))
    if (rows["length"] != width).any():
        raise ResultsError("keys must all have one length and not be NULL; keys of varying length are not supported")
    raw = np.frombuffer(rows["value"].tobytes(), dtype=np.uint8).reshape(-1, width)
    return raw.view(">i8").astype(np.int64).ravel() if width == 8 else raw


def _copied(connection: psycopg.Connection, query: sql.Composable) -> Iterator[bytes]:
    with connection.cursor() as cursor, cursor.copy(sql.SQL("copy ({}) to stdout (format binary)").format(query)) as stream:
        for piece in stream:
            yield bytes(piece)
