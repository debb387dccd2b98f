"""Do the same work on many shards at once, in processes: Alembic runs one migration at a time in each.

A worker never stops in the middle of a shard: Ctrl-C reaches the parent alone, and workers that lose their parent end what they
are at, then themselves.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from shardflake.errors import ShardflakeError
from shardflake.fleet.file import Shard

Result = TypeVar("Result")

_AT_WORK = threading.Lock()


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a shard could not be worked on: the kind of the error (its class's name) and its message."""

    kind: str
    message: str


@dataclass(slots=True)
class Stop:
    """Lets the caller of :meth:`Pool.run` end it early; shards under work are finished, the others are not begun."""

    wanted: bool = False


class Pool:
    """Worker processes, started when first needed and used again."""

    def __init__(self, executor: ProcessPoolExecutor, jobs: int) -> None:
        self._executor = executor
        self._jobs = jobs

    def run(
        self, work: Callable[[Shard], Result], shards: Iterable[Shard], stop: Stop | None = None
    ) -> Iterator[tuple[Shard, Result | Failure]]:
        """Work on shards; give each with its result, in the order in which they end.

        :param work: a function of a module, for the workers to import.
        :param stop: set its ``wanted`` while iterating to begin no further shard.
        """
        stop = stop or Stop()
        waiting = iter(shards)
        running: dict[Future[Result | Failure], Shard] = {}
        while True:
            while not stop.wanted and len(running) < self._jobs and (shard := next(waiting, None)) is not None:
                running[self._executor.submit(_attempt, work, shard)] = shard
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                shard = running.pop(future)
                error = future.exception()
                yield shard, Failure(type(error).__name__, str(error)) if error is not None else future.result()


def default_jobs() -> int:
    """Return how many shards to work on at once: as many as there are processors, 2 to 16."""
    return min(max(os.cpu_count() or 2, 2), 16)


@contextmanager
def pool(jobs: int | None = None) -> Iterator[Pool]:
    """Give a pool of processes.

    :param jobs: shards at once; by default one for each processor.
    """
    count = jobs or default_jobs()
    context = multiprocessing.get_context("forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn")
    if context.get_start_method() == "forkserver":
        context.set_forkserver_preload(["shardflake.fleet.observe", "shardflake.fleet.upgrade"])  # shared by the workers
    with ProcessPoolExecutor(count, context, initializer=_start) as executor:
        yield Pool(executor, count)


def _start() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()  # what was imported before the fork stays shared memory
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is None:
        return
    parent.join()
    with _AT_WORK:  # the shard at hand is finished
        os._exit(1)


def _attempt(work: Callable[[Shard], Result], shard: Shard) -> Result | Failure:
    with _AT_WORK:
        try:
            return work(shard)
        except ShardflakeError as error:
            return Failure(type(error).__name__, str(error))
