"""Rows of all shards in the order of their ids, which is the order of time; in memory is one page of each shard at most.

::

    for row in feed(shards, select(orders.c.id, orders.c.total), orders.c.id, after=last_seen, before=max_id(a_second_ago)):
        ...

Ids become visible when their transactions commit, not in their order: end the feed a little before now (``before``), as
docs/operations.md says, or a row that commits late is missed.
"""

from __future__ import annotations

import heapq
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
import sqlalchemy.orm
from sqlalchemy.ext.asyncio import AsyncEngine

from shardflake.errors import ShardflakeError
from shardflake.fleet.routing import ShardMap
from shardflake.layout import MAX_ID

if TYPE_CHECKING:
    Statement = sa.Select[*tuple[Any, ...]]
    Row = sa.Row[*tuple[Any, ...]]
    IdColumn = sa.ColumnElement[int] | sa.orm.InstrumentedAttribute[int]


def feed(
    shards: ShardMap[sa.Engine],
    statement: Statement,
    id_: IdColumn,
    *,
    after: int = -1,
    before: int = MAX_ID,
    page: int = 100,
    newest_first: bool = False,
) -> Iterator[Row]:
    """Give the rows of all shards by ascending id.

    :param statement: selects the rows of one shard, the id among its columns; without an order and a limit.
    :param id_: the id's column.
    :param after: an id; rows above it. To go on with a feed, the last id that it gave.
    :param before: an id; rows below it.
    :param page: rows that are fetched from a shard at a time; each page is a statement and a connection of its own.
    :param newest_first: give them by descending id.
    :raises ShardflakeError: if the statement does not select the id, or the page is empty.
    """
    pages = _Pages(statement, id_, page, newest_first)
    runs = [_rows(engine, pages, (after, before)) for engine in shards.engines.values()]
    return heapq.merge(*runs, key=pages.id_of, reverse=newest_first)


async def async_feed(
    shards: ShardMap[AsyncEngine],
    statement: Statement,
    id_: IdColumn,
    *,
    after: int = -1,
    before: int = MAX_ID,
    page: int = 100,
    newest_first: bool = False,
) -> AsyncIterator[Row]:
    """Give the rows of all shards by ascending id, asynchronously; otherwise as :func:`feed`."""
    pages = _Pages(statement, id_, page, newest_first)
    sign = -1 if newest_first else 1
    heap: list[tuple[int, int, Row, AsyncIterator[Row]]] = []
    for number, engine in enumerate(shards.engines.values()):
        run = _async_rows(engine, pages, (after, before))
        if (first := await anext(run, None)) is not None:
            heap.append((sign * pages.id_of(first), number, first, run))
    heapq.heapify(heap)
    while heap:
        _, number, row, run = heap[0]
        yield row
        following = await anext(run, None)
        if following is None:
            heapq.heappop(heap)
        else:
            heapq.heapreplace(heap, (sign * pages.id_of(following), number, following, run))


class _Pages:
    """Selects page after page of one shard; holds no rows."""

    def __init__(self, statement: Statement, id_: IdColumn, page: int, newest_first: bool) -> None:
        if page < 1:
            raise ShardflakeError(f"a page of {page} rows is empty; fetch 1 row or more at a time")
        self._statement = statement.order_by(id_.desc() if newest_first else id_).limit(page)
        self._id, self._size, self._newest_first = id_, page, newest_first
        self._position = _position(statement, id_)

    def select(self, bounds: tuple[int, int]) -> Statement:
        """Return the statement of the first page within bounds, both exclusive."""
        return self._statement.where(self._id > bounds[0], self._id < bounds[1])

    def rest(self, bounds: tuple[int, int], rows: Sequence[Row]) -> tuple[int, int] | None:
        """Return the bounds of what comes after a page, None if it was the last."""
        if len(rows) < self._size:
            return None
        last = self.id_of(rows[-1])
        return (bounds[0], last) if self._newest_first else (last, bounds[1])

    def id_of(self, row: Row) -> int:
        """Return a row's id."""
        return int(row[self._position])


def _rows(engine: sa.Engine, pages: _Pages, bounds: tuple[int, int] | None) -> Iterator[Row]:
    while bounds is not None:
        with engine.connect() as connection:
            rows = connection.execute(pages.select(bounds)).all()
        yield from rows
        bounds = pages.rest(bounds, rows)
        del rows  # before the next page comes


async def _async_rows(engine: AsyncEngine, pages: _Pages, bounds: tuple[int, int] | None) -> AsyncIterator[Row]:
    while bounds is not None:
        async with engine.connect() as connection:
            rows = (await connection.execute(pages.select(bounds))).all()
        for row in rows:
            yield row
        bounds = pages.rest(bounds, rows)
        del rows  # before the next page comes


def _position(statement: Statement, id_: IdColumn) -> int:
    """Return where the id stands in a row."""
    wanted: sa.ColumnElement[int] = sa.inspect(id_).expression if isinstance(id_, sqlalchemy.orm.InstrumentedAttribute) else id_
    for position, column in enumerate(statement.selected_columns):
        if column.compare(wanted):
            return position
    raise ShardflakeError(f"the statement does not select {id_}; add it to its columns")
