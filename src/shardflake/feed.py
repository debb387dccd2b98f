"""Read a table as a feed that loses no row, though transactions commit in another order than they draw their ids."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Session


class Feed:
    """Knows up to which id the rows of a database are settled: visible if they ever will be.

    A reader keeps its position where it keeps its results, and reads ids above the position and below the horizon, such as
    by ``page(select(Order), Order.id, after=position, before=feed.poll(connection), limit=500)``. One object serves all tables
    of a database. It holds no connection, and a new one needs nothing from the one before.
    """

    def __init__(self) -> None:
        self.horizon = 0
        """Ids below it are settled; rises with :meth:`poll`."""
        self._fence: int | None = None
        self._waiting: list[str] | None = None

    def poll(self, connection: sa.Connection | Session) -> int:
        """Ask the server once, and return the horizon: settled for statements that start after this call.

        Waits for nobody: transactions that still run keep the horizon where it is until a later call. For asynchronous code:
        ``await connection.run_sync(feed.poll)``.

        :param connection: on the primary, in READ COMMITTED; commit soon, for other feeds take this transaction for a writer.
        :raises sqlalchemy.exc.DBAPIError: SQLSTATE SF040 at another isolation level, whose snapshot would be too old, and on a
            standby, which does not know who has drawn.
        """
        texts = postgresql.ARRAY(sa.Text())
        call = sa.func.shardflake.feed_horizon(
            sa.cast(self._fence, sa.BigInteger()), sa.cast(self._waiting, texts)
        ).table_valued(sa.column("horizon", sa.BigInteger()), sa.column("fence", sa.BigInteger()), sa.column("waiting", texts))
        row: Any = connection.execute(sa.select(call)).one()
        self._fence, self._waiting = row.fence, row.waiting
        if row.horizon is not None:
            self.horizon = max(self.horizon, row.horizon)
        return self.horizon
