"""The generator of a worker for asyncio: the event loop never waits for a tick, a lease or the server."""

from __future__ import annotations

import asyncio

from shardflake.workers.generator import WorkerGenerator


class AsyncWorkerGenerator:
    """Makes ids for the tasks of an event loop, out of a :class:`WorkerGenerator` that threads may share.

    :param generator: its engine is a synchronous one, which the renewals use in their thread.
    """

    def __init__(self, generator: WorkerGenerator) -> None:
        self._generator = generator

    async def next_id(self) -> int:
        """Return an id that nobody else has; suspends only to wait for a tick or a lease.

        :raises NoLeaseError: as :meth:`WorkerGenerator.next_id`.
        """
        if (value := self._generator._id_at_hand()) is not None:
            return value
        return await asyncio.to_thread(self._generator.next_id)

    async def next_ids(self, count: int) -> list[int]:
        """Return ids that nobody else has; otherwise as :meth:`WorkerGenerator.next_ids`."""
        return await asyncio.to_thread(self._generator.next_ids, count)

    async def __aenter__(self) -> AsyncWorkerGenerator:
        await asyncio.to_thread(self._generator.start)
        return self

    async def __aexit__(self, *error: object) -> None:
        await asyncio.to_thread(self._generator.close)
