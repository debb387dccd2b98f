"""Ids of imported rows: their historical times, in ascending order, and no id twice, whatever happens to an import."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg.rows import scalar_row

from shardflake import install
from shardflake.layout import PRESETS
from tests.conftest import dsn
from tests.sql.test_functions import scalar
from tests.sql.test_generator import refused
from tests.sql.test_security import SHADOWS

IDS = "select * from shardflake.backfill_ids(%s, %s)"
MARK = "select last_id, last_time from shardflake._backfill where shard_id = 900"
MIDNIGHT = datetime(2025, 6, 1, tzinfo=UTC)


def ids(connection: psycopg.Connection[Any], times: list[datetime], shard: int = 900) -> list[int]:
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(IDS, (shard, times)).fetchall()


@pytest.fixture
def backfill(shard: sa.Engine) -> Iterator[psycopg.Connection]:
    """A connection to shard 5, which reserves shard id 900 for imports."""
    with psycopg.connect(dsn(shard), autocommit=True) as connection:
        connection.execute("set timezone = 'UTC'")
        connection.execute("select shardflake.reserve_backfill_shards('{900}')")
        yield connection


def test_ids_have_the_times_of_the_rows_and_ascend(backfill: psycopg.Connection) -> None:
    chance = random.Random(3)
    times = sorted(MIDNIGHT + timedelta(microseconds=chance.randrange(10**12)) for _ in range(20_000))
    made = ids(backfill, times[:7000]) + ids(backfill, times[7000:])
    assert made == sorted(set(made))
    fields = [PRESETS["shardflake"].decode(value) for value in made]
    assert {parts["shard"] for parts in fields} == {900}
    for when, parts in zip(times, fields, strict=True):
        assert PRESETS["shardflake"].time_of_tick(parts["time"]) == when.replace(microsecond=when.microsecond // 1000 * 1000)


@pytest.mark.parametrize("layout", PRESETS)
def test_crowds_spill_into_the_following_ticks_in_every_layout(
    make_database: Callable[..., sa.Engine], installed_template: str, layout: str
) -> None:
    engine, preset = make_database(installed_template), PRESETS[layout]
    install.assign(engine, 5, layout=layout)
    capacity = next(field.capacity for field in preset.fields if field.name == "counter")
    with psycopg.connect(dsn(engine), autocommit=True) as connection:
        connection.execute("select shardflake.reserve_backfill_shards('{30}')")
        first = ids(connection, [MIDNIGHT] * (2 * capacity + 1), 30)
        then = ids(connection, [MIDNIGHT, MIDNIGHT + timedelta(milliseconds=preset.tick_ms), MIDNIGHT + timedelta(days=1)], 30)
    start = preset.decode(first[0])["time"]
    assert preset.time_of_tick(start) == MIDNIGHT
    positions = [(start + n // capacity, n % capacity) for n in range(2 * capacity + 3)]
    positions.append((start + 86_400_000 // preset.tick_ms, 0))
    expected = [preset.encode(time=tick, shard=30, counter=counter) for tick, counter in positions]
    assert first + then == expected == sorted(expected)


@pytest.mark.parametrize(
    ("layout", "ms"),
    [("shardflake", 97), ("twitter", 24), ("discord", 24), ("sonyflake", 3900), ("instagram", 97), ("javascript", 781)],
)
def test_how_late_the_last_of_a_hundred_thousand_rows_of_midnight_is(
    make_database: Callable[..., sa.Engine], installed_template: str, layout: str, ms: int
) -> None:
    engine = make_database(installed_template)
    install.assign(engine, 5, layout=layout)
    with psycopg.connect(dsn(engine), autocommit=True) as connection:
        connection.execute("select shardflake.reserve_backfill_shards('{30}')")
        query = (
            "select max(shardflake.timestamp_of(i)) from shardflake.backfill_ids(30, array_fill(%s::timestamptz, '{100000}')) i"
        )
        assert scalar(connection, query, MIDNIGHT) == MIDNIGHT + timedelta(milliseconds=ms)


@pytest.mark.parametrize(
    ("times", "state", "message"),
    [
        ("array['2025-06-02'::timestamptz, null]", "SF011", "is NULL"),
        ("array['2024-12-31 23:59:59.999+00'::timestamptz]", "SF011", "is before the epoch 2025-01-01"),
        ("array['-infinity'::timestamptz]", "SF011", "the time -infinity, which is before the epoch"),
        ("array['infinity'::timestamptz]", "SF011", "the time infinity is ahead of the clock"),
        ("array['2025-06-02', now() + '1 minute']", "SF011", "is ahead of the clock"),
        ("array['2025-05-31 23:59:59.999999+00'::timestamptz]", "SF051", "to the time 2025-06-01 .* 2025-05-31 .* too late"),
        ("array['2025-06-03'::timestamptz, '2025-06-02']", "SF051", "come to the time 2025-06-03 .* 2025-06-02"),
        ("array_fill(now(), '{500000}')", "SF051", "500000 rows from .* would end 4.. ms ahead"),
    ],
)  # fmt: skip
def test_times_that_rows_cannot_have_are_refused_and_the_mark_stays(
    backfill: psycopg.Connection, times: str, state: str, message: str
) -> None:
    first = ids(backfill, [MIDNIGHT])
    before = backfill.execute(MARK).fetchone()
    refused(backfill, f"select shardflake.backfill_ids(900, {times})", state, message)
    assert backfill.execute(MARK).fetchone() == before == (first[0], MIDNIGHT)
    assert ids(backfill, []) == []
    assert scalar(backfill, "select count(*) from shardflake.backfill_ids(900, null)") == 0
    assert ids(backfill, [MIDNIGHT]) == [first[0] + 1]


def test_what_is_older_than_the_epoch_is_told_what_to_do(backfill: psycopg.Connection) -> None:
    with pytest.raises(psycopg.Error) as caught:
        ids(backfill, [datetime(2009, 1, 1, tzinfo=UTC)])
    hint = caught.value.diag.message_hint or ""
    assert "greatest(created_at, '2025-01-01 00:00:00+00')" in hint
    assert "custom_layout()" in hint
    query = "select shardflake.backfill_ids(900, array[greatest('2009-01-01', '2025-01-01 00:00:00+00'::timestamptz)])"
    assert scalar(backfill, query) == 900 << 10


def test_shard_ids_are_reserved_for_imports_alone(backfill: psycopg.Connection, shard: sa.Engine) -> None:
    reserve = "select shardflake.reserve_backfill_shards(array[%s])"
    backfill.execute("select shardflake.assign_shard(5, logical_shards => '{6, 7}')")
    backfill.execute("select shardflake.remove_logical_shards('{7}')")
    backfill.execute("select shardflake.reserve_worker_ids(7000, 7003, '1 s')")
    backfill.execute("select shardflake.claim_worker('me', worker => 7000)")
    backfill.execute("delete from shardflake._worker where worker_id = 7001")
    backfill.execute("update shardflake._worker set expires_at = now() - interval '1 s'")
    backfill.execute("select shardflake.reserve_worker_ids(7002, 7003, '1 s')")
    for number, reason in {
        "5": "is or was a shard", "6": "is or was a shard", "7": "is or was a shard", "7000": "is or was a worker id",
        "7003": "is or was a worker id", "8192": "is not between 0 and 8191", "-1": "is not between",
        "null::integer": "is not between 0 and 8191",
    }.items():  # fmt: skip
        refused(backfill, reserve % number, "SF050", reason)
    refused(backfill, reserve % "901, 902, 5", "SF050", "shard id 5 cannot be reserved")
    for statement in (
        "assign_shard(5, logical_shards => '{900}')",
        "assign_shard(900, replace => true)",
        "add_logical_shards('{900}')",
        "add_logical_shards('{7003}')",
    ):
        refused(backfill, f"select shardflake.{statement}", "SF007", "reserved for imported rows|one of the worker ids")
    refused(backfill, "select shardflake.reserve_worker_ids(800, 900)", "SF030", "shard 900 of this database lies in")
    refused(backfill, "select shardflake.next_id(900)", "SF009", "shard 900 is not one")
    refused(
        backfill,
        "select shardflake.backfill_ids(901, array[now()])",
        "SF050",
        "901 is not reserved for imported rows of shard 5",
    )
    refused(backfill, "select shardflake.backfill_ids(null, array[now()])", "SF050", "shard id NULL is not reserved")
    backfill.execute(reserve % "900, 901, 901")
    assert backfill.execute("select shard_id from shardflake.backfills()").fetchall() == [(900,), (901,)]
    assert install.status(shard).backfill_shards == [900, 901]
    assert install.check(shard) == ""  # the reservation is no drift


def test_reservations_and_assignments_at_once_do_not_pass_each_other(shard: sa.Engine, backfill: psycopg.Connection) -> None:
    outcome: list[str | None] = []

    def assign() -> None:
        with psycopg.connect(dsn(shard), autocommit=True) as other:
            try:
                other.execute("select shardflake.add_logical_shards('{901}')")
                outcome.append(None)
            except psycopg.Error as error:
                outcome.append(error.sqlstate)

    with backfill.transaction():
        backfill.execute("select shardflake.reserve_backfill_shards('{901}')")
        thread = threading.Thread(target=assign)
        thread.start()
        time.sleep(0.3)
    thread.join()
    assert outcome == ["SF007"]


def test_a_copy_makes_no_ids_until_it_reserves_others(
    backfill: psycopg.Connection, shard: sa.Engine, make_database: Callable[..., sa.Engine]
) -> None:
    original = scalar(backfill, "select current_database()")
    first = ids(backfill, [MIDNIGHT])
    backfill.close()
    shard.dispose()
    copy = make_database(original)
    with psycopg.connect(dsn(copy), autocommit=True) as connection:
        refused(
            connection,
            "select shardflake.backfill_ids(900, array[now()])",
            "SF002",
            "marks of imports of shard 5 .* are a copy",
        )
        refused(connection, "select shardflake.reserve_backfill_shards('{901}')", "SF002", "are a copy")
        connection.execute("select shardflake.assign_shard(6, replace => true)")
        refused(connection, "select shardflake.backfill_ids(900, array[now()])", "SF050", "900 is not reserved .* of shard 6")
        refused(connection, "select shardflake.reserve_backfill_shards('{900}')", "SF050", "was reserved by shard 5, of which")
        refused(connection, "select shardflake.add_logical_shards('{900}')", "SF007", "reserved for imported rows")
        assert install.status(copy).backfill_shards == []
        connection.execute("select shardflake.reserve_backfill_shards('{901}')")
        assert scalar(connection, "select shardflake.shard_of(shardflake.backfill_ids(901, array[now()]))") == 901
    with psycopg.connect(dsn(shard), autocommit=True) as connection:
        assert ids(connection, [MIDNIGHT]) == [first[0] + 1]


def test_the_downgrade_forgets_the_marks_and_keeps_the_shard_ids_reserved(
    shard: sa.Engine, backfill: psycopg.Connection
) -> None:
    ids(backfill, [MIDNIGHT])
    install.downgrade(shard, "0003")
    assert install.status(shard).backfill_shards == []
    refused(backfill, "select shardflake.add_logical_shards('{900}')", "SF007", "reserved for imported rows")
    assert install.upgrade(shard) == install.head()
    refused(backfill, "select shardflake.reserve_backfill_shards('{900}')", "SF050", "how far it has come was dropped")
    assert install.check(shard) == ""


def test_a_rollback_gives_the_ids_back_with_the_rows(backfill: psycopg.Connection) -> None:
    backfill.execute("create table t (id bigint primary key)")
    insert = "insert into t select * from shardflake.backfill_ids(900, array_fill(%s::timestamptz, '{10}'))"
    backfill.execute(insert, (MIDNIGHT,))
    with backfill.transaction(force_rollback=True):
        backfill.execute(insert, (MIDNIGHT + timedelta(days=9),))
    with backfill.transaction():
        backfill.execute(insert, (MIDNIGHT,))
        with backfill.transaction(force_rollback=True):  # a savepoint
            backfill.execute(insert, (MIDNIGHT + timedelta(days=8),))
        backfill.execute(insert, (MIDNIGHT,))
    assert backfill.execute("select count(*), max(id) - min(id) from t").fetchone() == (30, 29)
    assert backfill.execute(MARK).fetchone() == (scalar(backfill, "select max(id) from t"), MIDNIGHT)


def test_a_snapshot_from_before_another_import_is_refused(shard: sa.Engine, backfill: psycopg.Connection) -> None:
    with psycopg.connect(dsn(shard)) as old:
        old.execute("set transaction isolation level repeatable read")
        old.execute("select 1 from pg_class limit 1")
        ids(backfill, [MIDNIGHT])
        with pytest.raises(psycopg.errors.SerializationFailure):
            ids(old, [MIDNIGHT])


@pytest.fixture
def importer(backfill: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """The session, as a role that may make ids of imported rows and nothing else."""
    backfill.execute("create role backfiller")
    try:
        backfill.execute("create table orders (id bigint); grant insert on orders to backfiller")
        backfill.execute("select shardflake.grant_backfill_usage('backfiller')")
        backfill.execute(SHADOWS.encode())
        backfill.execute("set role backfiller")
        yield backfill
    finally:
        backfill.execute("reset role; reset search_path; drop owned by backfiller; drop role backfiller")


def test_a_role_may_import_and_nothing_else(importer: psycopg.Connection) -> None:
    importer.execute("insert into orders select * from shardflake.backfill_ids(900, array[%s::timestamptz])", (MIDNIGHT,))
    assert importer.execute("select shard_id, last_time from shardflake.backfills()").fetchone() == (900, MIDNIGHT)
    for statement in (
        "update shardflake._backfill set last_id = 0",
        "delete from shardflake._backfill",
        "select shardflake.reserve_backfill_shards('{901}')",
        "select shardflake.grant_backfill_usage('backfiller')",
        "select shardflake.next_id()",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            importer.execute(statement.encode())


def test_shadowed_names_change_nothing(importer: psycopg.Connection) -> None:
    importer.execute("set search_path = trap, pg_catalog, public; create temporary table _backfill (shard_id integer)")
    assert scalar(importer, "select count(*) from shardflake.backfill_ids(900, array[%s::timestamptz])", MIDNIGHT) == 1
    importer.execute("select * from shardflake.backfills()")
    assert scalar(importer, "select count(*) from trap.seen") == 0
    importer.execute("select 1::bigint >> 1")  # the control: the trap is set
    assert scalar(importer, "select count(*) from trap.seen") == 1


def test_a_batch_is_durable_whatever_the_session_says(shard: sa.Engine, backfill: psycopg.Connection) -> None:
    with psycopg.connect(dsn(shard)) as connection:
        connection.execute("set synchronous_commit = off")
        connection.commit()
        ids(connection, [MIDNIGHT])
        assert connection.execute("show synchronous_commit").fetchone() == ("on",)
