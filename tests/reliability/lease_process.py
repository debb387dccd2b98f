"""A process under attack: four threads draw from a pool and from a worker generator, and write down every id they receive.

SIGUSR1 makes it fork: the child draws from the same pool and generator for two seconds.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from array import array
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import sqlalchemy as sa

from shardflake.errors import ShardflakeError
from shardflake.pools import IdPool
from shardflake.workers import WorkerGenerator
from shardflake.workers.lease import Lease

FOREVER = 2**62


class WithoutExpiry(WorkerGenerator):
    """The control: once it has a lease it keeps it for ever, whatever the clock, the mark and the server say."""

    def _arrived(self, lease: Lease, stopping: threading.Event, *, claimed: bool) -> None:
        super()._arrived(replace(lease, expires=FOREVER, high_water=FOREVER), stopping, claimed=claimed)

    def _lost(self, lease: Lease) -> None:
        pass


def draw(source: Callable[[int], list[int]], file: int, until: float) -> None:
    """Write down what a source gives, until a time of the monotonic clock."""
    while time.monotonic() < until:
        try:
            os.write(file, array("q", source(20)).tobytes())
        except (ShardflakeError, sa.exc.SQLAlchemyError):
            time.sleep(0.05)
        time.sleep(0.003)


def draw_in_threads(pool: IdPool, generator: WorkerGenerator, directory: Path, until: float) -> list[threading.Thread]:
    file = os.open(directory / f"{os.getpid()}.ids", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    sources = (pool.next_ids, pool.next_ids, generator.next_ids, generator.next_ids)
    threads = [threading.Thread(target=draw, args=(source, file, until), daemon=True) for source in sources]
    for thread in threads:
        thread.start()
    return threads


def main(url: str, directory: str, mode: str) -> None:
    engine = sa.create_engine(url, connect_args={"connect_timeout": 2})
    pool = IdPool(engine, block=300, max_age=2)
    kind = WorkerGenerator if mode == "sound" else WithoutExpiry
    generator = kind(engine, margin=0.3, renew_every=0.5, timeout=1)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    draw_in_threads(pool, generator, Path(directory), time.monotonic() + 3600)
    while signal.sigwait([signal.SIGUSR1]):
        if os.fork() == 0:
            for thread in draw_in_threads(pool, generator, Path(directory), time.monotonic() + 2):
                thread.join()
            os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
