"""Pages by id: keyset pagination, one index range a page however far in, for Core and the ORM, sync and async."""

from __future__ import annotations

from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.sql.expression import ColumnElement

from shardflake.errors import InvalidIdError
from shardflake.ids import parse_id

AnySelect = TypeVar("AnySelect", bound=sa.Select[Any])


def page(
    statement: AnySelect,
    column: ColumnElement[int] | InstrumentedAttribute[int],
    *,
    limit: int,
    after: int | str | None = None,
    before: int | str | None = None,
    newest_first: bool = False,
) -> AnySelect:
    """Return a SELECT of one page: at most ``limit`` rows next to a position, in order of their ids.

    Ids are unique, so that rows are never tied: no page repeats or skips one. The rows nearest to ``after`` are taken, or to
    ``before`` if that alone is given; with both, or neither, the first ones in the order shown. The order shown does not
    depend on that: pages backwards need no reversal.

    :param statement: a SELECT of the rows to page through, without ORDER BY and LIMIT; it must return an id once.
    :param column: the id column to page by, such as ``Order.id`` or ``orders.c.id``; indexed, and part of the statement's FROM.
    :param limit: rows of the page, 1 or more; ask for one more than is shown to learn whether there is another page.
    :param after: an id, or its decimal digits; the page's ids are larger.
    :param before: likewise; the page's ids are smaller.
    :param newest_first: True shows descending ids.
    :raises InvalidIdError: for a position that is no id, or a limit below 1.
    """
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise InvalidIdError(f"limit {limit!r} is not a number of rows; give 1 or more")
    if after is not None:
        statement = statement.where(column > parse_id(after))
    if before is not None:
        statement = statement.where(column < parse_id(before))
    upwards = not newest_first if (after is None) == (before is None) else after is not None
    if upwards == newest_first:  # counted from the far end: the id at which to cut is found first, by the index alone
        nearest = statement.with_only_columns(column.label("id")).order_by(column.asc() if upwards else column.desc())
        edge = nearest.limit(limit).subquery()
        furthest = sa.select(sa.func.max(edge.c.id) if upwards else sa.func.min(edge.c.id)).scalar_subquery()
        statement = statement.where(column <= furthest if upwards else column >= furthest)
    return statement.order_by(column.desc() if newest_first else column.asc()).limit(limit)
