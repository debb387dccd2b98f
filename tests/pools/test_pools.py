"""Pools hand out no id twice: to threads, tasks, forked children, other processes; and none that is older than its age."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from shardflake.errors import ConnectionFailedError
from shardflake.forks import _WATCHED
from shardflake.ids import decode
from shardflake.pools import AsyncIdPool, IdPool
from shardflake.pools.block import EMPTY
from tests.orm.conftest import async_engine, driver_url

__all__ = ["async_engine"]


@pytest.fixture
def engine(shard: sa.Engine) -> Iterator[sa.Engine]:
    """An engine with connections of its own, as an application has one."""
    with engine_on(shard) as made:
        yield made


@contextmanager
def engine_on(shard: sa.Engine) -> Iterator[sa.Engine]:
    """Give an engine of an application; its pools are closed at the end."""
    made = sa.create_engine(driver_url(shard, "psycopg"))
    yield made
    for pool in list(_WATCHED):
        if isinstance(pool, IdPool) and pool._engine is made:
            pool.close()
    made.dispose()


def statements(engine: sa.Engine) -> list[str]:
    """Return the list that the statements of an engine are added to."""
    sent: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *args: sent.append(args[2]))
    return sent


def settle(pool: IdPool) -> None:
    """Wait until nothing is leased in the background."""
    with pool._changed:
        while pool._leasing:
            pool._changed.wait()


def test_ids_ascend_and_carry_the_shard(engine: sa.Engine) -> None:
    pool = IdPool(engine, block=1000)
    ids = [pool.next_id() for _ in range(2500)] + pool.next_ids(2500)
    assert ids == sorted(set(ids))
    assert {decode(value).shard for value in ids} == {5}
    settle(pool)


@pytest.mark.parametrize("count", [1, 255, 256, 1024, 1025, 102_400])
def test_a_block_is_what_one_lease_makes(engine: sa.Engine, count: int) -> None:
    sent = statements(engine)
    pool = IdPool(engine, block=count)
    ids = pool.next_ids(count)
    assert len(set(ids)) == count
    settle(pool)
    assert len(sent) == 2  # the block, and the one ahead of need
    assert (pool.metrics.leases, pool.metrics.waits) == (2, 1)


def test_the_next_block_is_there_before_it_is_needed(engine: sa.Engine) -> None:
    pool = IdPool(engine, block=100)
    for _ in range(10):
        pool.next_ids(100)
        settle(pool)
    assert pool.metrics.waits == 1


def test_leftovers_are_given_up_at_their_age(engine: sa.Engine) -> None:
    pool = IdPool(engine, block=1000, max_age=0.2)
    pool.next_id()
    settle(pool)
    time.sleep(0.3)
    before = time.time()
    late = pool.next_id()
    assert decode(late).time.timestamp() > before - 0.1
    assert pool.metrics.expired == 2  # the block, and the one in reserve
    settle(pool)


def test_threads_share_no_id(engine: sa.Engine) -> None:
    pool = IdPool(engine, block=500)
    with ThreadPoolExecutor(8) as executor:
        parts = list(executor.map(lambda number: [pool.next_id() for _ in range(2000)] + pool.next_ids(1000), range(8)))
    ids = [value for part in parts for value in part]
    assert len(ids) == len(set(ids)) == 24_000
    settle(pool)


def draw_in_child(draw: Callable[[], list[int]], meanwhile: Callable[[], object] = int) -> list[int]:
    """Return what a forked child draws; the parent does something meanwhile."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        try:
            with os.fdopen(writer, "w") as file:
                json.dump(draw(), file)
        finally:
            os._exit(0)
    os.close(writer)
    meanwhile()
    with os.fdopen(reader) as file:
        text = file.read()
    os.waitpid(child, 0)
    return list(json.loads(text))


@pytest.mark.parametrize("dropped", [True, False], ids=["as it is", "with the parent's block"])
def test_parent_and_child_share_no_id(engine: sa.Engine, dropped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not dropped:  # the control
        monkeypatch.setattr(IdPool, "_after_fork", lambda pool: None)
    pool = IdPool(engine, block=1000)
    first = pool.next_id()
    settle(pool)
    child = draw_in_child(lambda: [pool.next_id() for _ in range(300)])
    parent = [first] + [pool.next_id() for _ in range(300)]
    assert len(child) == 300
    assert bool(set(child) & set(parent)) != dropped
    with engine.connect() as connection:  # the child closed nothing of the parent's
        assert connection.scalar(sa.text("select 1")) == 1
    settle(pool)


def test_a_fork_while_another_thread_draws_leaves_the_child_no_lock(engine: sa.Engine) -> None:
    pool = IdPool(engine, block=50)
    stopping = threading.Event()
    received: list[int] = []

    def draw() -> None:
        while not stopping.is_set():
            received.append(pool.next_id())

    thread = threading.Thread(target=draw)
    thread.start()
    try:
        children = [value for _ in range(5) for value in draw_in_child(lambda: pool.next_ids(120))]
    finally:
        stopping.set()
        thread.join()
    assert len(set(children)) == 600
    assert not set(children) & set(received)
    settle(pool)


PROCESS = """
import json, sys
import sqlalchemy as sa
from shardflake.pools import IdPool
json.dump([IdPool(sa.create_engine(sys.argv[1]), block=300).next_ids(2000) for _ in range(2)], sys.stdout)
"""


def test_processes_share_no_id(engine: sa.Engine) -> None:
    url = engine.url.render_as_string(hide_password=False)
    started = [subprocess.Popen([sys.executable, "-c", PROCESS, url], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    ids = [value for process in started for part in json.loads(process.communicate(timeout=60)[0]) for value in part]
    assert len(ids) == len(set(ids)) == 12_000


def test_a_refill_that_fails_is_tried_again_and_then_raises(shard: sa.Engine) -> None:
    url = driver_url(shard, "psycopg")
    broken = [False]
    engine = sa.create_engine(url, poolclass=sa.NullPool)

    @event.listens_for(engine, "do_connect")
    def connect(dialect: sa.Dialect, record: object, args: object, options: dict[str, object]) -> None:
        if broken[0]:
            options["port"] = 1

    pool = IdPool(engine, block=10)
    pool.next_ids(10)
    settle(pool)
    broken[0] = True
    pool.next_ids(10)  # the reserve; the refill behind it fails in the background
    settle(pool)
    assert pool.metrics.failures == 1
    with pytest.raises(ConnectionFailedError):
        pool.next_id()
    broken[0] = False
    assert pool.next_id() > 0
    settle(pool)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"block": 0}, "block of 0"), ({"block": 102_401}, "1 to 102400"), ({"max_age": 0.0}, "max_age 0.0 s")],
)
def test_options_out_of_range_are_refused(engine: sa.Engine, options: dict[str, float], message: str) -> None:
    for kind in (IdPool, AsyncIdPool):
        with pytest.raises(ValueError, match=message):
            kind(engine, **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cannot draw -1"):
        IdPool(engine).next_ids(-1)


async def test_tasks_share_no_id(async_engine: AsyncEngine) -> None:
    pool = AsyncIdPool(async_engine, block=500)

    async def draw() -> list[int]:
        return [await pool.next_id() for _ in range(500)] + await pool.next_ids(500)

    parts = await asyncio.gather(*(draw() for _ in range(8)))
    ids = [value for part in parts for value in part]
    assert len(ids) == len(set(ids)) == 8000
    await pool.close()


async def test_a_cancelled_task_takes_no_block_away(async_engine: AsyncEngine) -> None:
    pool = AsyncIdPool(async_engine, block=300)
    waiting = asyncio.create_task(pool.next_id())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert len(set(await pool.next_ids(300))) == 300
    await pool.close()
    assert pool.metrics.leases == 2


async def test_a_pool_of_tasks_gives_up_leftovers_too(async_engine: AsyncEngine) -> None:
    pool = AsyncIdPool(async_engine, block=300, max_age=0.2)
    await pool.next_id()
    await asyncio.sleep(0.3)
    before = time.time()
    assert decode(await pool.next_id()).time.timestamp() > before - 0.1
    await pool.close()


async def test_a_pool_of_tasks_that_cannot_lease_raises(shard: sa.Engine) -> None:
    engine = create_async_engine(driver_url(shard, "psycopg").set(port=1))
    pool = AsyncIdPool(engine)
    with pytest.raises(ConnectionFailedError):
        await pool.next_id()
    assert pool._block is EMPTY
    await pool.close()
