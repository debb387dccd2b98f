"""Tickets: short, consecutive numbers from a series in one database or two, leased in blocks.

For numbers without gaps, call ``shardflake.next_invoice_number(series)`` in the transaction that uses the number, right before
its commit.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from shardflake.connect import translate_errors
from shardflake.errors import ConnectionFailedError, ShardflakeError
from shardflake.forks import drop_in_children

_LEASE = sa.text("select first_number, increment from shardflake.lease_tickets(:series, :count)")


@dataclass(slots=True)
class TicketMetrics:
    """What a pool has done since it was made: blocks leased, and databases passed over because they could not be reached."""

    leases: int = 0
    passed_over: int = 0


class TicketPool:
    """Hands out the numbers of a series, ascending within a block; safe for threads, and after ``fork``.

    With two databases, whose series must not share a number (odd and even, or two ranges), blocks come from each in turn, and
    from the other alone while one cannot be reached. Numbers that are left when a process ends are never given out: gaps.

    :param engines: an engine, or one for each database that the series is divided over.
    :param series: its name, the same in every database; see ``shardflake.create_tickets()``.
    :param block: numbers per lease, 1 to 1,000,000.
    :raises ValueError: for a block out of range, or no engine.
    """

    def __init__(self, engines: sa.Engine | Sequence[sa.Engine], series: str, block: int = 100) -> None:
        self._engines = [engines] if isinstance(engines, sa.Engine) else list(engines)
        if not 1 <= block <= 1_000_000:
            raise ValueError(f"a block of {block} tickets cannot be leased; choose 1 to 1000000")
        if not self._engines:
            raise ValueError("a pool of tickets needs an engine, or one for each database of the series")
        self._series = series
        self._size = block
        self._turns = itertools.cycle(range(len(self._engines)))
        self.metrics = TicketMetrics()
        self._reset()
        drop_in_children(self)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._numbers: Iterator[int] = iter(())

    def next_number(self) -> int:
        """Return one number that nobody else has.

        :raises TicketError: if the series is unknown or exhausted.
        :raises ShardflakeError: if no database can be reached.
        """
        with self._lock:
            for number in self._numbers:
                return number
            self._numbers = iter(self._lease())
            return next(self._numbers)

    def _lease(self) -> range:
        """Lease a block from the database whose turn it is, or from the next one that answers."""
        failure: ShardflakeError | None = None
        for _ in self._engines:
            engine = self._engines[next(self._turns)]
            try:
                with translate_errors(), engine.connect() as connection:
                    first, increment = connection.execute(_LEASE, {"series": self._series, "count": self._size}).one()
                    connection.commit()
            except ConnectionFailedError as error:
                failure = error
                self.metrics.passed_over += 1
            else:
                self.metrics.leases += 1
                return range(first, first + self._size * increment, increment)
        assert failure is not None  # noqa: S101  (there is an engine at least)
        raise failure

    def _after_fork(self) -> None:
        self._reset()
        for engine in self._engines:
            engine.dispose(close=False)
