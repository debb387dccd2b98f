"""A pool of ids for threads: leases a block at a time, the next one before it is needed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from time import monotonic

import sqlalchemy as sa

from shardflake.connect import translate_errors
from shardflake.forks import drop_in_children
from shardflake.pools.block import EMPTY, LEASE, Block, PoolMetrics, check_options


class IdPool:
    """Hands out ids of a shard without a round trip each; safe for threads, and after ``fork``.

    Ids come in ascending order of their lease; two pools, or two blocks, interleave. When the pool goes over to a block, it
    leases the one after it in the background. A child process starts with an empty pool: it drops its parent's blocks, and
    the connections that the engine had, without closing them.

    ::

        pool = IdPool(engine, block=10_000)
        order_id = pool.next_id()

    :param engine: an engine on the shard; PostgreSQL, any synchronous driver.
    :param block: ids per lease, 1 to 102,400; a lease is one round trip.
    :param max_age: seconds after which what is left of a block is given up, so that the time in an id is never older.
    :raises ValueError: for options out of range.
    """

    def __init__(self, engine: sa.Engine, block: int = 10_000, *, max_age: float = 10.0) -> None:
        check_options(block, max_age)
        self._engine = engine
        self._size = block
        self._max_age = max_age
        self.metrics = PoolMetrics()
        self._reset()
        drop_in_children(self)

    def _reset(self) -> None:
        """Start without a block, and with locks that nobody holds."""
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._block = EMPTY
        self._spare: Block | None = None
        self._leasing = False

    def next_id(self) -> int:
        """Return one id that nobody else has.

        :raises ShardflakeError: if a block must be leased and cannot be.
        """
        with self._lock:
            block = self._block
            if monotonic() < block.expires:
                for value in block.ids:
                    return value
            while True:
                self._next_block()
                for value in self._block.ids:
                    return value

    def next_ids(self, count: int) -> list[int]:
        """Return ids that nobody else has, ascending within each block.

        :param count: how many, 0 or more; more than a block takes several leases.
        :raises ValueError: for a negative count.
        :raises ShardflakeError: if a block must be leased and cannot be.
        """
        if count < 0:
            raise ValueError(f"cannot draw {count} ids")
        with self._lock:
            ids = self._block.take(count) if self._block.fresh else []
            while len(ids) < count:
                self._next_block()
                ids += self._block.take(count - len(ids))
            return ids

    def __iter__(self) -> Iterator[int]:
        """Iterate over ids for ever."""
        return self

    def __next__(self) -> int:
        return self.next_id()

    def close(self) -> None:
        """Give up what is left, and wait for a lease that is under way; a later draw leases anew."""
        with self._lock:
            while self._leasing:
                self._changed.wait()
            self._block, self._spare = EMPTY, None

    def _next_block(self) -> None:
        """Go over to the next fresh block and have another one leased; the lock is held, and given up while waiting."""
        if self._block is not EMPTY and not self._block.fresh:
            self.metrics.expired += 1
        self._block = EMPTY
        if self._spare is None:
            self.metrics.waits += 1
        while not self._block.fresh:  # else another thread went over to a block meanwhile
            if self._spare is not None:
                self._block, self._spare = self._spare, None
                if not self._block.fresh:
                    self.metrics.expired += 1
                self._lease_ahead()
            elif self._leasing:
                self._changed.wait()
            else:
                self._lease_now()

    def _lease_now(self) -> None:
        """Lease a block in this thread; the lock is given up meanwhile."""
        self._leasing = True
        self._lock.release()
        block = None
        try:
            block = self._lease()
        finally:
            self._lock.acquire()
            self._arrived(block)

    def _lease_ahead(self) -> None:
        """Have the next block leased in the background, unless the interpreter is shutting down."""
        if self._leasing or self._spare is not None:
            return
        self._leasing = True
        try:
            threading.Thread(target=self._lease_in_background, name="shardflake-pool", daemon=True).start()
        except RuntimeError:
            self._leasing = False

    def _lease_in_background(self) -> None:
        changed = self._changed
        block = None
        try:
            block = self._lease()
        except Exception:  # the draw that needs the block leases again, and raises
            self.metrics.failures += 1
        finally:
            with changed:
                self._arrived(block)

    def _arrived(self, block: Block | None) -> None:
        self._leasing = False
        if block is not None:
            self._spare = block
            self.metrics.leases += 1
        self._changed.notify_all()

    def _lease(self) -> Block:
        expires = monotonic() + self._max_age  # before the server makes them: an id is never older than its block
        with translate_errors(), self._engine.connect() as connection:
            rows = connection.execute(LEASE, {"count": self._size}).all()
            connection.commit()
        return Block(((first, length) for first, length in rows), expires)

    def _after_fork(self) -> None:
        self._reset()
        self._engine.dispose(close=False)
