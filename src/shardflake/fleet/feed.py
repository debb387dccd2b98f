"""Rows of all shards in the order of their ids, which is the order of time; in memory is one page of each shard at most.

::

    for row in feed(shards, select(orders.c.id, orders.c.total), orders.c.id, after=last_seen, before=max_id(a_second_ago)):
        ...

Ids become visible when their transactions commit, not in their order: end the feed a little before now (``before``), as
docs/operations.md says, or a row that commits late is missed.
"""

from __future__ import annotations

import heapq
from collections.abc import AsyncIterator, Iterator
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
    position = _position(statement, id_, page)
    runs = [_rows(engine, statement, id_, position, (after, before), page, newest_first) for engine in shards.engines.values()]
    return heapq.merge(*runs, key=lambda row: row[position], reverse=newest_first)


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
    position = _position(statement, id_, page)
    sign = -1 if newest_first else 1
    heap: list[tuple[int, int, Row, AsyncIterator[Row]]] = []
    for number, engine in enumerate(shards.engines.values()):
        run = _async_rows(engine, statement, id_, position, (after, before), page, newest_first)
        async for row in run:
            heap.append((sign * row[position], number, row, run))
            break
    heapq.heapify(heap)
    while heap:
        _, number, row, run = heap[0]
        yield row
        following = await anext(run, None)
        if following is None:
            heapq.heappop(heap)
        else:
            heapq.heapreplace(heap, (sign * following[position], number, following, run))


def _rows(
    engine: sa.Engine,
    statement: Statement,
    id_: IdColumn,
    position: int,
    bounds: tuple[int, int],
    page: int,
    newest_first: bool,
) -> Iterator[Row]:
    while True:
        with engine.connect() as connection:
            rows = connection.execute(_page(statement, id_, bounds, page, newest_first)).all()
        yield from rows
        if len(rows) < page:
            return
        bounds = _rest(bounds, rows[-1][position], newest_first)
        del rows  # before the next page comes


async def _async_rows(
    engine: AsyncEngine,
    statement: Statement,
    id_: IdColumn,
    position: int,
    bounds: tuple[int, int],
    page: int,
    newest_first: bool,
) -> AsyncIterator[Row]:
    while True:
        async with engine.connect() as connection:
            rows = (await connection.execute(_page(statement, id_, bounds, page, newest_first))).all()
        for row in rows:
            yield row
        if len(rows) < page:
            return
        bounds = _rest(bounds, rows[-1][position], newest_first)
        del rows, row  # before the next page comes


def _page(statement: Statement, id_: IdColumn, bounds: tuple[int, int], page: int, newest_first: bool) -> Statement:
    after, before = bounds
    return statement.where(id_ > after, id_ < before).order_by(id_.desc() if newest_first else id_).limit(page)


def _rest(bounds: tuple[int, int], last: int, newest_first: bool) -> tuple[int, int]:
    return (bounds[0], last) if newest_first else (last, bounds[1])


def _position(statement: Statement, id_: IdColumn, page: int) -> int:
    """Return where the id stands in a row."""
    if page < 1:
        raise ShardflakeError(f"a page of {page} rows is empty; fetch 1 row or more at a time")
    wanted: sa.ColumnElement[int] = sa.inspect(id_).expression if isinstance(id_, sqlalchemy.orm.InstrumentedAttribute) else id_
    for position, column in enumerate(statement.selected_columns):
        if column.compare(wanted):
            return position
    raise ShardflakeError(f"the statement does not select {id_}; add it to its columns")
