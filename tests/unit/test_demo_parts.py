"""The parts of the demo that need no server."""

from __future__ import annotations

import io
import os
import re
import signal
from datetime import UTC, datetime
from threading import Event

import pytest
import sqlalchemy as sa
from rich.console import Console

from shardflake.demo import story
from shardflake.demo.interrupts import Interrupts
from shardflake.demo.load import run_together
from shardflake.demo.report import Report, Results
from shardflake.demo.steps import FoundOrder, IndexSize, InstagramLoad, Page, ShardflakeLoad, SharedNumbers, Size
from shardflake.demo.store import PEOPLE, Customer, Order, OrderLine, Shard, Store
from shardflake.errors import InvalidIdError, ShardIdError
from shardflake.ids import make_id

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def some_store() -> Store:
    engine = sa.create_engine("postgresql+psycopg://", poolclass=sa.NullPool)
    names = enumerate(PEOPLE, start=1)
    return Store(
        tuple(Shard(name, number, f"postgresql://postgres@127.0.0.1:5432/store_{name}", engine) for number, name in names)
    )


def some_results(instagram: int = 7, duplicates: int = 0, mixed_up: int = 0, foreign: int = 0) -> Results:
    """Return results with numbers as large as a long run's."""
    store = some_store()
    rows = {shard.name: 12_345_678 for shard in store.shards}
    orders = []
    for number in range(8):
        customer = Customer(id=make_id(NOON, 2, 5), name="Marie-Christine de Montaigne")
        line = OrderLine(product="teapot", quantity=2, price_cents=2450)
        orders.append(Order(id=make_id(NOON, 4, number), reference="oceania-0000-0", customer=customer, lines=[line]))
    statements = {shard.name: int(shard.name == "oceania") for shard in store.shards}
    return Results(
        SharedNumbers(123_456, 98_765, {98_765: {shard.name: "Olivia: sketch pad" for shard in store.shards}}),
        InstagramLoad(12_345_678, instagram, 50, 100.0, {2**62: ["scanner 7, parcel 123456", "scanner 1, parcel 654321"]}),
        ShardflakeLoad(rows, rows, 123_456, duplicates, mixed_up, foreign),
        FoundOrder(store.shards[3], orders[0], statements),
        [Page(orders, 4), Page(orders, 4)],
        [IndexSize("bigserial", 200_000, 4_497_408), IndexSize("gen_random_uuid()", 12_345_678, 543_210_987)],
    )


def printed(results: Results) -> str:
    """Return everything that the report prints of such results."""
    output = io.StringIO()
    report = Report(Console(file=output, width=100, highlight=False))
    store = some_store()
    report.opening("0.1.0")
    report.step(story.SHARDFLAKE)
    report.numbers(results.numbers, store)
    report.instagram(results.instagram)
    report.shardflake(results.shardflake, store)
    report.found(results.found)
    report.pages(results.pages)
    report.explanation(results.found.order.id)
    report.indexes(results.indexes)
    report.summary(results, 89.6)
    report.connections(store)
    return output.getvalue()


def test_report_fits_100_columns_and_wraps_no_row() -> None:
    lines = printed(some_results()).splitlines()
    assert max(map(len, lines)) <= 100
    rows = [line for line in lines if line.startswith("  shardflake: duplicate ids")]
    assert [row.split() for row in rows] == [
        "shardflake: duplicate ids 0 of 98,765,424; 8 sessions and an ORM a shard".split()  # noqa: SIM905
    ]


def test_report_draws_the_bits_of_an_id() -> None:
    ticks = (NOON - datetime(2025, 1, 1, tzinfo=UTC)).total_seconds() * 1000
    bits = re.search(r"^ +0 +([01]{40}) +([01]{13}) +([01]{10}) *$", printed(some_results()), re.MULTILINE)
    assert bits is not None
    assert [int(digits, 2) for digits in bits.groups()] == [int(ticks), 4, 0]
    assert "2026-05-01 12:00:00.000 UTC" in printed(some_results())


def test_passes_without_failures() -> None:
    assert some_results().failures == []
    assert "PASS  duplicate ids: Instagram's function 7, shardflake 0  (90 seconds)" in printed(some_results())


@pytest.mark.parametrize(
    ("results", "failure"),
    [
        (some_results(duplicates=3), "shardflake gave out 3 ids again"),
        (some_results(mixed_up=2), "2 objects got the key of another row"),
        (some_results(foreign=1), "1 ids of shardflake name another shard"),
        (some_results(instagram=0), "this run proves nothing"),
    ],
)
def test_fails_for_each_broken_claim(results: Results, failure: str) -> None:
    assert len(results.failures) == 1
    assert failure in results.failures[0]
    assert "FAIL" in printed(results)
    assert "PASS" not in printed(results)


@pytest.mark.parametrize(
    ("rows", "size"),
    [(200_000, Size(20, 250, 25)), (8_000, Size(1, 10, 1)), (7_999, None), (0, None)],
)
def test_size_keeps_proportions(rows: int, size: Size | None) -> None:
    if size is None:
        with pytest.raises(ValueError, match=f"{rows} rows are too few: give 8000 or more"):
            Size.of(rows)
    else:
        assert Size.of(rows) == size


def test_shard_of_an_id() -> None:
    store = some_store()
    for shard in store.shards:
        assert store.shard_of(make_id(NOON, shard.shard_id, 1023)) is shard
    with pytest.raises(ShardIdError, match=r"is of shard 5; this store has the shards 1, 2, 3, 4"):
        store.shard_of(make_id(NOON, 5))
    with pytest.raises(InvalidIdError):
        store.shard_of(-1)


def test_a_failing_job_ends_the_others() -> None:
    stopped = []

    def patient(stop: Event) -> None:
        stopped.append(stop.wait(30))

    def failing(stop: Event) -> None:
        raise RuntimeError("no more room")

    with pytest.raises(RuntimeError, match="no more room"):
        run_together([patient, patient, failing])
    assert stopped == [True, True]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupts_once(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with Interrupts():
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)  # ignored: the cleaning up goes on
    assert signal.getsignal(number) is before


def test_interrupts_wait_for_a_block_that_holds_them_back() -> None:
    ended = []

    def interrupted(interrupts: Interrupts) -> None:
        with interrupts.held_back():
            os.kill(os.getpid(), signal.SIGINT)
            ended.append(True)

    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        interrupted(interrupts)
    assert ended == [True]


def test_interrupts_are_ignored_once_it_is_over() -> None:
    with Interrupts() as interrupts:
        interrupts.over = True
        os.kill(os.getpid(), signal.SIGINT)
