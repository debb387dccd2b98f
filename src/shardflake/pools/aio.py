"""The pool of ids for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from time import monotonic

from sqlalchemy.ext.asyncio import AsyncEngine

from shardflake.connect import translate_errors
from shardflake.forks import drop_in_children
from shardflake.pools.block import EMPTY, LEASE, Block, PoolMetrics, check_options


class AsyncIdPool:
    """Hands out ids of a shard to the tasks of one event loop; otherwise as :class:`shardflake.pools.IdPool`.

    :param engine: an asynchronous engine on the shard.
    :param block: ids per lease, 1 to 102,400.
    :param max_age: seconds after which what is left of a block is given up.
    :raises ValueError: for options out of range.
    """

    def __init__(self, engine: AsyncEngine, block: int = 10_000, *, max_age: float = 10.0) -> None:
        check_options(block, max_age)
        self._engine = engine
        self._size = block
        self._max_age = max_age
        self.metrics = PoolMetrics()
        self._reset()
        drop_in_children(self)

    def _reset(self) -> None:
        self._block = EMPTY
        self._lease: asyncio.Task[Block] | None = None

    async def next_id(self) -> int:
        """Return one id that nobody else has; suspends only when a block has to be waited for.

        :raises ShardflakeError: if a block must be leased and cannot be.
        """
        while True:
            block = self._block
            if monotonic() < block.expires:
                for value in block.ids:
                    return value
            await self._next_block(block)

    async def next_ids(self, count: int) -> list[int]:
        """Return ids that nobody else has, ascending within each block.

        :param count: how many, 0 or more.
        :raises ValueError: for a negative count.
        :raises ShardflakeError: if a block must be leased and cannot be.
        """
        if count < 0:
            raise ValueError(f"cannot draw {count} ids")
        ids: list[int] = []
        while True:
            block = self._block
            if block.fresh:
                ids += block.take(count - len(ids))
            if len(ids) == count:
                return ids
            await self._next_block(block)

    def __aiter__(self) -> AsyncIterator[int]:
        """Iterate over ids for ever."""
        return self

    async def __anext__(self) -> int:
        return await self.next_id()

    async def close(self) -> None:
        """Give up what is left, and wait for a lease that is under way; call it before the loop ends."""
        lease, self._lease = self._lease, None
        self._block = EMPTY
        if lease is not None:
            await asyncio.gather(lease, return_exceptions=True)

    async def _next_block(self, spent: Block) -> None:
        """Go over to the next fresh block, unless another task has done so meanwhile."""
        ahead = self._lease
        if ahead is None:
            ahead = self._lease = self._lease_ahead()
        if not ahead.done():
            self.metrics.waits += 1
            # shielded: a caller that is cancelled must not take the block away from the others
            await asyncio.gather(asyncio.shield(ahead), return_exceptions=True)
        if self._lease is not ahead:
            return
        self._lease = None
        if (error := ahead.exception()) is not None:
            self.metrics.failures += 1
            raise error
        if spent is not EMPTY and not spent.fresh:
            self.metrics.expired += 1
        self._block = ahead.result()
        self._lease = self._lease_ahead()

    def _lease_ahead(self) -> asyncio.Task[Block]:
        task = asyncio.create_task(self._fetch())
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # looked at, or asyncio complains
        return task

    async def _fetch(self) -> Block:
        expires = monotonic() + self._max_age
        with translate_errors():
            async with self._engine.connect() as connection:
                rows = (await connection.execute(LEASE, {"count": self._size})).all()
                await connection.commit()
        self.metrics.leases += 1
        return Block(((first, length) for first, length in rows), expires)

    def _after_fork(self) -> None:
        self._reset()
        self._engine.sync_engine.dispose(close=False)
