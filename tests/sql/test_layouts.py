"""Layouts in the generator: fixed once, validated, and with the same promises; ids of each read and bounded as in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
import sqlalchemy as sa

from shardflake import install
from shardflake.errors import InvalidIdError, LayoutError
from shardflake.layout import PRESETS
from tests.conftest import dsn
from tests.reliability.attack import replace_function
from tests.sql.test_functions import scalar
from tests.sql.test_generator import refused

OTHERS = [name for name in PRESETS if name != "shardflake"]
NOON = datetime(2026, 11, 30, 12, 0, 0, 123_456, tzinfo=UTC)


@pytest.fixture
def make_layout(make_database: Callable[..., sa.Engine], installed_template: str) -> Callable[[str], psycopg.Connection]:
    """Makes shards 5 of a layout and connects to them."""

    def make(layout: str) -> psycopg.Connection:
        engine = make_database(installed_template)
        install.assign(engine, 5, logical_shards=[9], layout=layout)
        return psycopg.connect(dsn(engine), autocommit=True)

    return make


@pytest.fixture
def unassigned(make_database: Callable[..., sa.Engine], installed_template: str) -> Iterator[psycopg.Connection]:
    """A connection to a database without a shard id."""
    with psycopg.connect(dsn(make_database(installed_template)), autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize("layout", OTHERS)
def test_ids_of_a_layout_ascend_and_are_read_as_in_python(
    make_layout: Callable[[str], psycopg.Connection], layout: str
) -> None:
    with make_layout(layout) as connection:
        connection.execute("select shardflake.next_id()")
        before = datetime.now(UTC)
        ids = [row[0] for row in connection.execute("select shardflake.next_id() from generate_series(1, 3000)")]
        ids += [row[0] for row in connection.execute("select shardflake.next_ids((shardflake._batch_limit() / 2)::integer)")]
        ids += [row[0] for row in connection.execute("select shardflake.next_id(9) from generate_series(1, 300)")]
        assert ids == sorted(set(ids))
        for value, shard in ((ids[0], 5), (ids[3_100], 5), (ids[-1], 9)):
            fields = PRESETS[layout].decode(value)
            time = PRESETS[layout].time_of_tick(fields["time"])
            assert fields["shard"] == shard
            assert abs(time - before) < timedelta(seconds=10)
            own = connection.execute("select * from shardflake.decode(%s)", (value,)).fetchone()
            named = connection.execute("select * from shardflake.decode(%s, %s)", (value, layout)).fetchone()
            assert own == named == (time, shard, fields["counter"])
            assert scalar(connection, "select shardflake.make_id(%s, %s, %s)", *own) == value
        assert scalar(connection, "select layout like %s || ' %%' from shardflake.status()", layout)
        for bound in ("min_id", "max_id"):
            query = f"select shardflake.{bound}(%s) = shardflake.{bound}(%s, %s)"
            assert scalar(connection, query, NOON, NOON, layout)


@pytest.mark.parametrize("layout", OTHERS)
def test_the_ends_of_a_layouts_time_field(make_layout: Callable[[str], psycopg.Connection], layout: str) -> None:
    preset = PRESETS[layout]
    last = preset.time.capacity - 1
    with make_layout(layout) as connection:
        largest = (1 << sum(field.bits for field in preset.fields)) - 1
        assert scalar(connection, "select shardflake.min_id(%s)", preset.first_time) == 0
        assert scalar(connection, "select shardflake.max_id(%s)", preset.last_time) == largest
        assert scalar(connection, "select (shardflake.decode(%s)).time", largest) == preset.last_time
        refused(connection, f"select shardflake.min_id('{preset.first_time - timedelta(milliseconds=1)}')", "SF011", "no id")
        after = preset.last_time + timedelta(milliseconds=preset.tick_ms)
        refused(connection, f"select shardflake.min_id('{after}')", "SF011", "no id")
        refused(connection, f"select shardflake.max_id('{after}', '{layout}')", "SF011", "no id of layout")
        refused(connection, "select shardflake.decode(-1)", "SF011", "is not an id")
        if largest < 2**63 - 1:
            refused(connection, f"select shardflake.decode({largest + 1})", "SF011", "is not an id")
            refused(connection, f"select shardflake.decode({largest + 1}, '{layout}')", "SF011", "is not an id")
        connection.execute("select shardflake.next_id()")
        bits = 63 - preset.time.bits
        connection.execute(f"select setval('shardflake._high_water', {last}), setval('shardflake._opened', {last})")
        connection.execute(
            f"select setval('shardflake._window', ({last}::bigint << {bits}) | (1 << shardflake._counter_bits()) - 1)"
        )
        refused(connection, "select shardflake.next_id()", "SF004", f"the {preset.time.bits}-bit time field of shard 5 ends at")


@pytest.mark.parametrize("layout", ["sonyflake", "javascript"])
def test_overflowing_counters_are_void(make_layout: Callable[[str], psycopg.Connection], layout: str) -> None:
    with make_layout(layout) as connection:
        connection.execute("select shardflake.next_id()")
        flood = "select count(nextval('shardflake._window')) from generate_series(1, 20000)"
        ids = []
        for _ in range(5):
            ids += [row[0] for row in connection.execute("select shardflake.next_id() from generate_series(1, 300)")]
            connection.execute(flood)
        assert ids == sorted(set(ids))
        assert {PRESETS[layout].decode(value)["shard"] for value in ids} == {5}


def test_overflowing_counters_of_a_window_without_void_draws_are_caught(
    make_layout: Callable[[str], psycopg.Connection],
) -> None:
    """The control: whatever the counter, a draw near the clock counts, and its counter is cut to the field."""
    with make_layout("javascript") as connection:
        replace_function(connection, "_is_due(bigint)", ("| (127)::bigint", "| (4194303)::bigint"))
        ids = [row[0] for row in connection.execute("select shardflake.next_id() from generate_series(1, 3000)")]
        assert len(set(ids)) < len(ids)


def test_sessions_of_two_shards_of_a_layout_meet_no_id(
    make_database: Callable[..., sa.Engine], installed_template: str
) -> None:
    urls = []
    for shard in (0, 65_535):
        engine = make_database(installed_template)
        install.assign(engine, shard, layout="sonyflake")
        urls += [dsn(engine)] * 2

    def draw(url: str) -> list[int]:
        with psycopg.connect(url, autocommit=True) as connection:
            return [row[0] for row in connection.execute("select shardflake.next_id() from generate_series(1, 2000)")]

    with ThreadPoolExecutor() as pool:
        drawn = [value for ids in pool.map(draw, urls) for value in ids]
    assert len(set(drawn)) == len(drawn) == 8_000


def test_a_layout_is_fixed_with_the_shard_id(make_layout: Callable[[str], psycopg.Connection]) -> None:
    with make_layout("twitter") as connection:
        connection.execute("select shardflake.assign_shard(5, layout => 'twitter')")
        connection.execute("select shardflake.assign_shard(5)")
        for query in (
            "select shardflake.assign_shard(5, layout => 'discord')",
            "select shardflake.assign_shard(6, replace => true, layout => 'shardflake')",
            "select shardflake.custom_layout(41, 10, 12, '2020-01-01')",
        ):
            refused(connection, query, "SF014", "layout")
        refused(connection, "select shardflake.assign_shard(5, layout => 'snowflake')", "SF014", 'no layout "snowflake"')
        refused(connection, "select shardflake.assign_shard(1024, replace => true)", "SF007", "is not between 0 and 1023")
        assert scalar(connection, "select layout from shardflake.status()") == "twitter 41/10/12"


def test_a_session_that_planned_with_another_layout_follows(unassigned: psycopg.Connection) -> None:
    """Plans of a rolled-back assignment, or from before any, hold no constant of a layout that never was."""
    refused(unassigned, "select shardflake._open_window(1)", "SF001", "has no shard id yet")
    with unassigned.transaction(force_rollback=True):
        unassigned.execute("select shardflake.assign_shard(5, layout => 'twitter')")
        unassigned.execute("select shardflake.next_id() from generate_series(1, 9000)")
        twitter = unassigned.execute("select shardflake.timestamp_of(shardflake.next_id()), now()").fetchone()
        assert twitter is not None
        assert abs(twitter[0] - twitter[1]) < timedelta(seconds=10)
    refused(unassigned, "select shardflake.next_id()", "SF001", "has no shard id yet")
    unassigned.execute("select shardflake.assign_shard(6, layout => 'sonyflake')")
    ids = [row[0] for row in unassigned.execute("select shardflake.next_id() from generate_series(1, 2000)")]
    assert ids == sorted(set(ids))
    for value in ids[::100]:
        fields = PRESETS["sonyflake"].decode(value)
        assert fields["shard"] == 6
        assert abs(PRESETS["sonyflake"].time_of_tick(fields["time"]) - datetime.now(UTC)) < timedelta(seconds=10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("42, 10, 11, '2020-01-01'", "42 bits of time"),
        ("41, 10, 13, '2020-01-01'", "64, more than 63"),
        ("41, 23, 1, '2020-01-01'", "23 bits of shard id"),
        ("41, 5, 17, '2020-01-01'", "17 bits of counter"),
        ("41, 10, 0, '2020-01-01'", "0 bits of counter"),
        ("41, 10, 12, '2020-01-01', 0", "a tick of 0 ms"),
        ("41, 10, 12, '2020-01-01', 101", "a tick of 101 ms"),
        ("41, 10, 12, '2100-01-01'", "the epoch"),
        ("30, 10, 12, '2020-01-01'", "in less than a year"),
        ("41, 10, null, '2020-01-01'", "NULL"),
    ],
)
def test_custom_layouts_that_do_not_fit_are_refused(unassigned: psycopg.Connection, arguments: str, message: str) -> None:
    refused(unassigned, f"select shardflake.custom_layout({arguments})", "SF014", message)


@pytest.mark.parametrize(
    ("arguments", "tick", "shift"),
    [
        ("41, 6, 16, '2020-01-01 00:00+00'", 1, 22),
        ("36, 4, 1, '2020-01-01 00:00+00', 100, true", 100, 5),
        ("39, 10, 3, '2020-01-01 00:00+00', 7", 7, 13),
    ],
)
def test_custom_layouts_keep_the_promises(unassigned: psycopg.Connection, arguments: str, tick: int, shift: int) -> None:
    unassigned.execute(f"select shardflake.custom_layout({arguments})")
    unassigned.execute("select shardflake.assign_shard(5)")
    unassigned.execute("select shardflake.next_id()")
    epoch = datetime(2020, 1, 1, tzinfo=UTC)
    ids = []
    for query in ("next_id() from generate_series(1, 12)", "next_ids(2)", "next_id() from generate_series(1, 12)"):
        now = (datetime.now(UTC) - epoch) / timedelta(milliseconds=tick)
        drawn = [row[0] for row in unassigned.execute(f"select shardflake.{query}")]
        after = (datetime.now(UTC) - epoch) / timedelta(milliseconds=tick)
        span = max(127 // tick, 3)
        assert now - max(20 / tick, 2) - 1 <= drawn[0] >> shift
        assert drawn[-1] >> shift <= after + span
        ids += drawn
    assert ids == sorted(set(ids))
    assert {scalar(unassigned, "select shardflake.shard_of(%s)", value) for value in ids} == {5}
    assert scalar(unassigned, "select shardflake.timestamp_of(%s)", ids[-1]) == epoch + timedelta(
        milliseconds=(ids[-1] >> shift) * tick
    )


def test_python_refuses_layouts_as_the_server_does(make_database: Callable[..., sa.Engine], installed_template: str) -> None:
    engine = make_database(installed_template)
    with pytest.raises(InvalidIdError, match="there is no layout 'snowflake'"):
        install.assign(engine, 5, layout="snowflake")
    with pytest.raises(InvalidIdError, match="shard id 1024 is not between 0 and 1023"):
        install.assign(engine, 1024, layout="twitter")
    install.upgrade(engine, 1023, layout="twitter")
    with pytest.raises(LayoutError, match="its layout cannot become discord"):
        install.assign(engine, 1023, layout="discord")


@pytest.mark.parametrize("layout", PRESETS)
@pytest.mark.parametrize("count", [100_000, pytest.param(1_000_000, marks=pytest.mark.torture)])
def test_random_ids_round_trip(make_layout: Callable[[str], psycopg.Connection], layout: str, count: int) -> None:
    query = (
        "with random as (select ('x' || md5(n::text))::bit(64)::bigint & %s as id from generate_series(1, %s) as n) "
        "select count(*) filter (where shardflake.make_id(shardflake.timestamp_of(id), shardflake.shard_of(id), "
        "shardflake.counter_of(id)) = id), count(*) filter (where id between shardflake.min_id(shardflake.timestamp_of(id)) "
        "and shardflake.max_id(shardflake.timestamp_of(id))) from random"
    )
    with make_layout(layout) as connection:
        assert connection.execute(query, (PRESETS[layout].largest, count)).fetchone() == (count, count)
