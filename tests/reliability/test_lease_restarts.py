"""A plain restart of the server, stopped fast and started, with leases in use: ids stay unique and increasing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from shardflake.connect import make_engine
from shardflake.errors import NoLeaseError
from shardflake.ids import decode
from shardflake.server import LocalServer
from shardflake.workers import WorkerGenerator
from tests.reliability.attack import attacked_server

FAST = {"margin": 0.3, "renew_every": 0.5, "timeout": 8}


@contextmanager
def lessor(bin_dir: Path | None, ttl: str) -> Iterator[tuple[LocalServer, sa.Engine]]:
    """Give a server that leases workers 7000 to 7003, and an engine that keeps its connections, as applications' do."""
    with attacked_server(bin_dir) as server:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("select shardflake.reserve_worker_ids(7000, 7003, %s::interval)", (ttl,))
        engine = sa.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(server.url()), pool_size=1)
        yield server, engine
        engine.dispose()


@contextmanager
def drawing(generator: WorkerGenerator, ids: list[int]) -> Iterator[None]:
    """Draw ids in a thread meanwhile."""
    stopping = threading.Event()

    def draw() -> None:
        while not stopping.wait(0.001):
            ids.append(generator.next_id())

    with ThreadPoolExecutor(1) as thread:
        drawn = thread.submit(draw)
        try:
            yield
        finally:
            stopping.set()
        drawn.result()


def draw_for(generator: WorkerGenerator, seconds: float, ids: list[int]) -> None:
    """Draw ids for some time, or until the generator refuses."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        ids.append(generator.next_id())


def until(what: str, happened: Callable[[], bool]) -> None:
    """Wait for something, at most 15 s."""
    ends = time.monotonic() + 15
    while not happened():
        assert time.monotonic() < ends, what
        time.sleep(0.02)


def grows(generator: WorkerGenerator, metric: str) -> Callable[[], bool]:
    """Return a question: whether a metric is larger than now."""
    before = getattr(generator.metrics, metric)
    return lambda: getattr(generator.metrics, metric) > before


def test_a_restart_within_the_lease_goes_unnoticed(bin_dir: Path | None) -> None:
    with lessor(bin_dir, "20 s") as (server, engine), WorkerGenerator(engine, **FAST) as generator:  # type: ignore[arg-type]
        generator.start()
        until("a renewal", grows(generator, "renewals"))
        ids: list[int] = []
        with drawing(generator, ids):
            for _ in range(2):
                server.stop("fast")
                down = len(ids)
                until("a renewal that fails", grows(generator, "failures"))
                server.start()
                until("a renewal after the restart", grows(generator, "renewals"))
                assert len(ids) > down
            with WorkerGenerator(engine, **{**FAST, "timeout": 2}) as newcomer:  # type: ignore[arg-type]
                assert newcomer.start().worker == 7001  # a plain restart makes nobody wait
        assert (generator.worker, generator.metrics.claims) == (7000, 1)
        assert (generator.metrics.lost, generator.metrics.refusals) == (0, 0)
    assert len(ids) > 500
    assert ids == sorted(set(ids))
    assert {decode(value).shard for value in ids} == {7000}


def test_a_restart_that_outlasts_the_lease_is_refused_meanwhile_and_made_up_for(bin_dir: Path | None) -> None:
    options = {**FAST, "timeout": 0.2}
    with lessor(bin_dir, "2 s") as (server, engine), WorkerGenerator(engine, **FAST) as generator:  # type: ignore[arg-type]
        ids = generator.next_ids(5000)
        generator._timeout = options["timeout"]
        server.stop("fast")
        started = time.monotonic()
        with pytest.raises(NoLeaseError):
            draw_for(generator, 4, ids)
        assert 0.5 < time.monotonic() - started < 3  # the rest of the lease of 2 s, less its margin, and the timeout
        server.start()
        generator._timeout = FAST["timeout"]
        ids += generator.next_ids(5000)
        assert generator.metrics.claims == 2
        assert generator.metrics.refusals > 0
    assert ids == sorted(set(ids))
    assert {decode(value).shard for value in ids} == {7000}


@pytest.mark.parametrize("broken", [False, True], ids=["as it is", "leases that a restart forgets"])
def test_nobody_gets_the_worker_of_a_holder_who_goes_on(bin_dir: Path | None, broken: bool) -> None:
    with lessor(bin_dir, "20 s") as (server, engine):
        holder = WorkerGenerator(engine, **{**FAST, "renew_every": 10}).start()  # type: ignore[arg-type]
        received = holder.next_ids(1024)
        server.stop("fast")
        received += holder.next_ids(1024)
        server.start()
        if broken:  # as if they lay in an unlogged table
            with psycopg.connect(server.url(), autocommit=True) as connection:
                connection.execute("truncate shardflake._worker")
        newcomer = WorkerGenerator(make_engine(server.url()), **FAST).start()  # type: ignore[arg-type]
        with ThreadPoolExecutor(2) as together:  # each fills a hundred ticks, more than what their clocks differ by
            for _ in range(5):
                for ids in together.map(lambda generator: generator.next_ids(100 * 1024), (holder, newcomer)):
                    received += ids
        assert (newcomer.worker == holder.worker) == broken
        holder.close()
        newcomer.close()
    assert (len(set(received)) < len(received)) == broken
