"""The generator of a worker: order, threads, fork, clock steps, and when it refuses."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from shardflake.errors import InvalidIdError, NoLeaseError
from shardflake.ids import decode
from shardflake.layout import SHARDFLAKE, Field, Layout
from shardflake.workers import AsyncWorkerGenerator, WorkerGenerator, worker_of_ordinal
from shardflake.workers.lease import Lease
from tests.orm.conftest import driver_url
from tests.pools.test_pools import draw_in_child
from tests.workers.conftest import MakeGenerator, reserve

WIDE = Layout("wide", (Field("time", 41), Field("worker", 13), Field("sequence", 9)), epoch_ms=1_288_834_974_657)
SLOW = Layout("slow", (Field("time", 38), Field("sequence", 8), Field("zone", 6), Field("machine", 7)), 0, tick_ms=10)


def move_clock(generator: WorkerGenerator, seconds: float) -> None:
    """Set the clock that a generator goes by, as a renewal does after a step of the server's clock."""
    with generator._lock:
        lease = generator._lease
        assert lease is not None
        generator._lease = replace(lease, offset=lease.offset + round(seconds * 1e9), high_water=lease.high_water + 10**11)
        generator._close_tick()


def test_ids_ascend_near_the_clock_of_the_server(make_generator: MakeGenerator, leasing: sa.Engine) -> None:
    generator = make_generator()
    with leasing.connect() as connection:
        before = connection.scalar(sa.text("select extract(epoch from clock_timestamp())"))
        ids = [generator.next_id() for _ in range(20_000)] + generator.next_ids(20_000)
        after = connection.scalar(sa.text("select extract(epoch from clock_timestamp())"))
    assert ids == sorted(set(ids))
    assert {decode(value).shard for value in ids} == {7000}
    assert float(before) - 0.05 < decode(ids[0]).time.timestamp() <= decode(ids[-1]).time.timestamp() < float(after) + 0.05


@pytest.mark.parametrize("layout", [SHARDFLAKE, WIDE], ids=lambda layout: layout.name)
def test_a_counter_that_is_used_up_waits_for_the_next_tick(make_generator: MakeGenerator, layout: Layout) -> None:
    generator = make_generator(layout=layout)
    generator.start()
    started = time.monotonic()
    ids = generator.next_ids(100 * generator._fields.span)
    assert time.monotonic() - started > 0.085
    assert ids == sorted(set(ids))
    assert generator.metrics.waits > 50
    counters = {layout.decode(value)[layout.fields[-1].name] for value in ids}
    assert counters == set(range(generator._fields.span))


def test_a_worker_may_fill_several_fields_and_the_counter_lie_anywhere(shard: sa.Engine) -> None:
    reserve(shard, 130, 130)
    with WorkerGenerator(shard, SLOW) as generator:
        ids = [generator.next_id() for _ in range(300)]
    fields = [SLOW.decode(value) for value in ids]
    assert {(field["zone"], field["machine"]) for field in fields} == {(1, 2)}
    assert [field["sequence"] for field in fields[:256]] == list(range(256))
    assert ids == sorted(set(ids))


def test_layouts_and_workers_that_do_not_fit_are_refused(shard: sa.Engine) -> None:
    with pytest.raises(InvalidIdError, match="a worker needs a counter"):
        WorkerGenerator(shard, Layout("bare", (Field("time", 40), Field("worker", 10)), 0))
    with pytest.raises(InvalidIdError, match="worker 8192 does not fit layout shardflake"):
        WorkerGenerator(shard, worker=8192)
    with pytest.raises(ValueError, match="margin 0"):
        WorkerGenerator(shard, margin=0)
    reserve(shard, 600, 600)
    narrow = Layout("narrow", (Field("time", 40), Field("worker", 9), Field("counter", 10)), 0)
    with pytest.raises(NoLeaseError, match="worker 600 does not fit layout narrow"):
        WorkerGenerator(shard, narrow, timeout=5).next_id()


def test_threads_share_no_id(make_generator: MakeGenerator) -> None:
    generator = make_generator()
    with ThreadPoolExecutor(8) as executor:
        parts = list(executor.map(lambda _: [generator.next_id() for _ in range(3000)] + generator.next_ids(500), range(8)))
    ids = [value for part in parts for value in part]
    assert len(ids) == len(set(ids)) == 28_000
    assert all(part == sorted(part) for part in parts)


async def test_tasks_share_no_id_and_the_loop_goes_on(make_generator: MakeGenerator) -> None:
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            beats += 1
            await asyncio.sleep(0.001)

    async with AsyncWorkerGenerator(make_generator()) as generator:
        beating = asyncio.create_task(beat())
        parts = await asyncio.gather(
            *([generator.next_ids(2000) for _ in range(4)] + [generator.next_ids(1) for _ in range(9)])
        )
        single = [await generator.next_id() for _ in range(5000)]
        beating.cancel()
    ids = single + [value for part in parts for value in part]
    assert len(ids) == len(set(ids)) == 13_009
    assert beats > 2


@pytest.mark.parametrize("forgotten", [True, False], ids=["as it is", "with the parent's lease"])
def test_parent_and_child_share_no_id(make_generator: MakeGenerator, forgotten: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not forgotten:  # the control
        monkeypatch.setattr(WorkerGenerator, "_after_fork", lambda generator: None)
    generator = make_generator()
    generator.start()
    parent: list[int] = []
    child = draw_in_child(lambda: generator.next_ids(200_000), lambda: parent.extend(generator.next_ids(200_000)))
    assert len(child) == len(parent) == 200_000
    assert bool(set(child) & set(parent)) != forgotten


def test_the_lease_is_renewed_and_given_back(make_generator: MakeGenerator, leasing: sa.Engine) -> None:
    generator = make_generator(holder="web-1")
    generator.start()
    time.sleep(2.5)
    assert (generator.worker, generator.metrics.claims, generator.metrics.lost) == (7000, 1, 0)
    assert generator.metrics.renewals >= 3
    generator.next_id()
    generator.close()
    assert generator.worker is None
    with make_generator(holder="web-2") as other:  # at once, since it was given back
        assert other.worker == 7000
        other.next_id()
        with leasing.connect() as connection:
            row = connection.execute(sa.text("select holder, live from shardflake.workers()")).one()
    assert row == ("web-2", True)


def test_a_lease_that_is_not_renewed_in_time_issues_nothing(
    make_generator: MakeGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = make_generator(timeout=0.2)
    last = generator.next_id()
    monkeypatch.setattr(generator._keeper, "_engine", sa.create_engine("postgresql+psycopg://postgres@127.0.0.1:1/none"))
    ended = time.monotonic() + 2.0
    refusal = None
    while time.monotonic() < ended + 0.5 and refusal is None:
        try:
            last = generator.next_id()
        except NoLeaseError as error:
            refusal = error
    assert "no worker id could be leased within 0.2 s" in str(refusal)
    assert time.monotonic() < ended + 0.3
    assert generator.metrics.refusals == 1
    assert generator.metrics.failures > 0
    monkeypatch.undo()
    generator._timeout = 8
    assert generator.next_id() > last


STOPPED = """
    import sys, time
    import sqlalchemy as sa
    from shardflake.errors import NoLeaseError
    from shardflake.workers import WorkerGenerator
    generator = WorkerGenerator(sa.create_engine(sys.argv[1]), worker=7000, margin=0.3, renew_every=0.5, timeout=0)
    while generator.worker is None:
        try:
            generator.start()
        except NoLeaseError:
            time.sleep(0.01)
    while True:
        try:
            print(generator.next_id(), flush=True)
        except NoLeaseError as error:
            print("refused", flush=True)
            break
        time.sleep(0.0005)
"""


def test_a_process_that_was_stopped_wakes_up_and_refuses(
    make_generator: MakeGenerator, leasing: sa.Engine, tmp_path: Path
) -> None:
    url = driver_url(leasing, "psycopg").render_as_string(hide_password=False)
    output = tmp_path / "ids"
    with output.open("w") as file:
        process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(STOPPED), url], stdout=file)
    try:
        while output.stat().st_size < 2000:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGSTOP)
        generator = make_generator(worker=7000)
        ids = generator.next_ids(2000)  # as soon as the lease of the other is over
        os.kill(process.pid, signal.SIGCONT)
        ids += generator.next_ids(2000)
        assert process.wait(timeout=10) == 0
    finally:
        process.kill()
        process.wait()
    lines = output.read_text().split()
    assert lines[-1] == "refused"
    assert not {int(line) for line in lines[:-1]} & set(ids)
    assert int(lines[-2]) < ids[0]


def test_a_small_step_back_is_waited_out(make_generator: MakeGenerator) -> None:
    generator = make_generator()
    last = generator.next_id()
    move_clock(generator, -0.2)
    started = time.monotonic()
    assert generator.next_id() > last
    assert 0.15 < time.monotonic() - started < 1
    assert generator.metrics.refusals == 0


def test_a_large_step_back_is_refused(make_generator: MakeGenerator) -> None:
    generator = make_generator(max_step=0.05)
    generator.next_id()
    move_clock(generator, -30)
    with pytest.raises(NoLeaseError, match=r"the clock of the server is (2|3)\d{4} ms behind the ids of worker 7000"):
        generator.next_id()
    assert generator.metrics.refusals == 1
    move_clock(generator, 30.1)
    generator.next_id()


def test_a_large_step_back_counts_on_as_a_logical_clock_up_to_the_mark(make_generator: MakeGenerator) -> None:
    generator = make_generator(clock="logical", max_step=0.05, renew_every=60)
    last = generator.next_id()
    move_clock(generator, -30)
    ids = generator.next_ids(5000)
    assert ids == sorted(set(ids))
    assert ids[0] > last
    assert generator.metrics.logical >= 4
    with generator._lock:
        lease = generator._lease
        assert lease is not None
        generator._lease = replace(lease, high_water=generator._used() + 20_000_000)
    with pytest.raises(NoLeaseError, match="has used up its lease"):
        generator.next_ids(21 * 1024 + 1)


def test_two_generators_for_one_id_take_turns(make_generator: MakeGenerator) -> None:
    first = make_generator(worker=7003, holder="web-3")
    first.start()
    with pytest.raises(NoLeaseError, match="worker 7003 is held by 'web-3'"):
        make_generator(worker=7003, timeout=0.3).next_id()
    waiting = make_generator(worker=7003)
    threading.Timer(0.5, first.close).start()
    assert waiting.start().worker == 7003


@pytest.mark.parametrize(("options", "message"), [({"worker": 6999}, "worker 6999 is not one of the reserved ids")])
def test_what_waiting_cannot_mend_is_refused_at_once(
    make_generator: MakeGenerator, options: dict[str, int], message: str
) -> None:
    started = time.monotonic()
    with pytest.raises(NoLeaseError, match=message):
        make_generator(**options).next_id()
    assert time.monotonic() - started < 3


@pytest.mark.parametrize(("name", "worker"), [("web-0", 7000), ("my-web-12", 7012)])
def test_the_ordinal_of_a_pod_is_its_worker(name: str, worker: int) -> None:
    assert worker_of_ordinal(7000, name) == worker


@pytest.mark.parametrize("name", ["web", "web-", "web-1a", "web1"])
def test_a_name_without_an_ordinal_is_refused(name: str) -> None:
    with pytest.raises(InvalidIdError, match="does not end in a number"):
        worker_of_ordinal(7000, name)


def test_a_late_answer_to_a_generator_that_was_closed_is_dropped(make_generator: MakeGenerator) -> None:
    generator = make_generator()
    generator.start()
    lease = generator._lease
    assert isinstance(lease, Lease)
    generator.close()
    stopped = threading.Event()
    stopped.set()
    generator._arrived(lease, stopped, claimed=True)
    assert generator.worker is None
