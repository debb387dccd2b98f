"""UUIDv7 and ULIDs made, read and bounded in SQL: as their formats have them, in order within a session, and as in Python."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
import sqlalchemy as sa

from shardflake import ulid, uuids
from tests.conftest import dsn

VECTORS: dict[str, dict[str, list[dict[str, Any]]]] = json.loads((Path(__file__).parents[1] / "vectors.json").read_text())
MANY = 20_000

WITHOUT_STATE = """
create function naive_v7() returns uuid language sql volatile return overlay(gen_random_uuid()::text
  placing lpad(to_hex(shardflake._unix_us() / 1000), 12, '0') || '7' from 1 for 15)::uuid;
create function naive_ulid() returns text language sql volatile return shardflake.uuid_to_ulid(overlay(gen_random_uuid()::text
  placing lpad(to_hex(shardflake._unix_us() / 1000), 12, '0') from 1 for 13)::uuid);
"""


def column(connection: psycopg.Connection, query: str, *parameters: object) -> list[Any]:
    return [row[0] for row in connection.execute(query, parameters)]


def draw(connection: psycopg.Connection, function: str, count: int = MANY) -> list[Any]:
    query = f"select {function}() from generate_series(1, {int(count)})"
    return [row[0] for row in connection.execute(query.encode())]


def inversions(ids: list[Any]) -> int:
    """Count the ids that are not above the one before."""
    return sum(later <= earlier for earlier, later in pairwise(ids))


@pytest.mark.parametrize(
    ("function", "broken", "time"),
    [
        ("shardflake.uuid_v7", "naive_v7", lambda made: uuids.decode_v7(made).time),
        ("shardflake.ulid", "naive_ulid", lambda made: ulid.decode(made).time),
    ],
)
def test_a_session_draws_in_order_and_near_the_clock(
    connection: psycopg.Connection, function: str, broken: str, time: Callable[[Any], datetime]
) -> None:
    (before,) = column(connection, "select date_trunc('milliseconds', clock_timestamp())")
    made = [*draw(connection, function), *(draw(connection, function, 1)[0] for _ in range(200))]
    (after,) = column(connection, "select clock_timestamp()")
    assert inversions(made) == 0
    assert all(before <= time(one) <= after for one in made)
    connection.execute(WITHOUT_STATE)
    assert inversions(draw(connection, broken)) > 0


@pytest.mark.parametrize("function", ["shardflake.uuid_v7", "shardflake.ulid"])
def test_sessions_repeat_nothing(shard: sa.Engine, function: str) -> None:
    made: list[Any] = []
    opened = [psycopg.connect(dsn(shard), autocommit=True) for _ in range(4)]
    for _ in range(3):
        for connection in opened:
            made += draw(connection, function)
    for connection in opened:
        connection.close()
    assert len(set(made)) == 12 * MANY


def test_every_random_bit_of_both_kinds_varies(connection: psycopg.Connection) -> None:
    tails = [made.int & ((1 << uuids.RAND_B_BITS) - 1) for made in draw(connection, "shardflake.uuid_v7", 500)]
    for bit in range(uuids.RAND_B_BITS):
        assert 150 < sum(tail >> bit & 1 for tail in tails) < 350, bit
    randoms = []
    for _ in range(500):
        connection.execute("set shardflake._ulid = ''")  # as in a session that has drawn nothing: all random bits are new
        randoms.append(ulid.decode(column(connection, "select shardflake.ulid()")[0]).random)
    for bit in range(ulid.RANDOM_BITS):
        assert 150 < sum(number >> bit & 1 for number in randoms) < 350, bit


def test_ulids_of_a_millisecond_count_up_by_one(connection: psycopg.Connection) -> None:
    made = [ulid.parse(text) for text in draw(connection, "shardflake.ulid")]
    same = [b - a for a, b in pairwise(made) if a >> ulid.RANDOM_BITS == b >> ulid.RANDOM_BITS]
    assert len(same) > MANY // 2
    assert set(same) == {1}


def test_the_last_ulid_of_a_millisecond_is_not_followed_by_one_of_the_next(connection: psycopg.Connection) -> None:
    last, future = 2**40 - 1, 2**47
    connection.execute("select set_config('shardflake._ulid', %s, false)", (f"{{{future},0,{last}}}",))
    assert column(connection, "select shardflake.ulid()") == [ulid.make(future, 1 << 40)]
    connection.execute("select set_config('shardflake._ulid', %s, false)", (f"{{{future},{last},{last}}}",))
    with pytest.raises(psycopg.Error, match=f"no ULID of the millisecond {future} is left") as caught:
        connection.execute("select shardflake.ulid()")
    assert caught.value.sqlstate == "SF005"


@pytest.mark.parametrize("function", ["shardflake.uuid_v7", "shardflake.ulid"])
def test_what_is_kept_is_in_order_across_rollbacks(connection: psycopg.Connection, function: str) -> None:
    kept = draw(connection, function, 1)
    for _ in range(100):
        with connection.transaction():
            kept += draw(connection, function, 10)
            with connection.transaction(force_rollback=True):
                draw(connection, function, 10)
            kept += draw(connection, function, 10)
        with connection.transaction(force_rollback=True):
            draw(connection, function, 10)
        kept += draw(connection, function, 1)
    assert inversions(kept) == 0


@pytest.mark.parametrize("function", ["shardflake.uuid_v7", "shardflake.ulid"])
def test_a_role_with_usage_draws_in_a_read_only_transaction(connection: psycopg.Connection, function: str) -> None:
    connection.execute("create role reader_of_clocks")
    try:
        connection.execute("grant usage on schema shardflake to reader_of_clocks; set role reader_of_clocks")
        connection.execute("set default_transaction_read_only = on")
        assert inversions(draw(connection, function, 100)) == 0
    finally:
        connection.execute("reset role; set default_transaction_read_only = off")
        connection.execute("drop owned by reader_of_clocks; drop role reader_of_clocks")


def test_uuid_v7_is_inlined_into_a_default(connection: psycopg.Connection) -> None:
    connection.execute("create table t (id uuid default shardflake.uuid_v7(), n integer)")
    plan = "\n".join(column(connection, "explain (verbose) insert into t (n) select generate_series(1, 3)"))
    assert "gen_random_uuid()" in plan
    assert "uuid_v7()" not in plan


def test_bounds_are_an_index_range(connection: psycopg.Connection) -> None:
    connection.execute("create table t (id uuid primary key)")
    connection.execute("set enable_seqscan = off; set enable_bitmapscan = off")
    start, end = "'2026-07-06 08:30+00'", "'2026-07-06 08:31+00'"
    query = (
        "explain (costs off) select * from t where "
        f"id >= (shardflake.uuid_v7_bounds({start}, {end})).low and id < (shardflake.uuid_v7_bounds({start}, {end})).high"
    )
    plan = "\n".join(column(connection, query))
    assert re.search(r"Index Cond: \(\(id >= \(.*\)\)\.low\) AND \(id < \(.*\)\)\.high\)\)", plan)
    assert "Filter" not in plan
    joined = (
        "explain (costs off) select id from t, shardflake.uuid_v7_bounds(now() - interval '1 hour', now()) b "
        "where id >= b.low and id < b.high"
    )
    assert "Index Cond: ((id >= b.low) AND (id < b.high))" in "\n".join(column(connection, joined))


def test_bounds_hold_what_was_drawn_between_them(connection: psycopg.Connection) -> None:
    connection.execute("create table t (id uuid primary key default shardflake.uuid_v7(), n integer)")
    connection.execute("insert into t (n) select generate_series(1, 1000)")
    inside = "select count(*) from t, shardflake.uuid_v7_bounds(%s, %s) b where id >= b.low and id < b.high"
    (now,) = column(connection, "select clock_timestamp()")
    a_moment, a_minute = timedelta(milliseconds=2), timedelta(minutes=1)
    assert column(connection, inside, now - a_minute, now + a_moment) == [1000]
    assert column(connection, inside, now - a_minute, now - a_minute) == [0]
    assert column(connection, inside, now + a_moment, now + a_minute) == [0]


def test_bounds_and_times_agree_with_python(connection: psycopg.Connection) -> None:
    chance = random.Random(9562)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    micros = [0, 1, 499, 500, 998, 999]
    times = [epoch + timedelta(milliseconds=chance.randrange(2**47), microseconds=chance.choice(micros)) for _ in range(MANY)]
    query = (
        "select b.low, b.high from unnest(%s::timestamptz[]) with ordinality u (t, n), "
        "shardflake.uuid_v7_bounds(t, t + interval '1 millisecond') b order by n"
    )
    expected = [uuids.time_range_v7(time, time + timedelta(milliseconds=1)) for time in times]
    assert connection.execute(query, (times,)).fetchall() == expected
    made = [uuids.make_v7(low.int >> 80, chance.randrange(2**12), chance.randrange(2**62)) for low, _ in expected]
    query = "select shardflake.uuid_v7_time(u) from unnest(%s::uuid[]) with ordinality t (u, n) order by n"
    assert column(connection, query, made) == [uuids.decode_v7(one).time for one in made]


def test_ulids_and_uuids_agree_with_python(connection: psycopg.Connection) -> None:
    chance = random.Random(26)
    numbers = [chance.randrange(2**128) for _ in range(MANY)]
    query = (
        "select t, shardflake.ulid_to_uuid(t) from unnest(%s::uuid[]) with ordinality a (u, n), "
        "shardflake.uuid_to_ulid(u) t order by n"
    )
    rows = connection.execute(query, ([UUID(int=number) for number in numbers],)).fetchall()
    assert rows == [(ulid.render(number), UUID(int=number)) for number in numbers]


@pytest.mark.parametrize("row", VECTORS["valid"]["ulid"], ids=lambda row: row["text"])
def test_the_vectors_of_ulids(connection: psycopg.Connection, row: dict[str, Any]) -> None:
    number = UUID(int=int(row["number"]))
    query = """
        select shardflake.ulid_to_uuid(%(t)s), shardflake.uuid_to_ulid(%(u)s),
               extract(epoch from shardflake.ulid_time(%(t)s)) * 1000
    """
    found = connection.execute(query, {"t": row["text"], "u": number}).fetchone()
    assert found == (number, row["text"], row["unix_ms"])


@pytest.mark.parametrize("row", VECTORS["valid"]["uuidv7"], ids=lambda row: row["text"])
def test_the_vectors_of_uuids_of_version_7(connection: psycopg.Connection, row: dict[str, Any]) -> None:
    query = "select extract(epoch from shardflake.uuid_v7_time(%s)) * 1000"
    assert column(connection, query, UUID(row["text"])) == [row["unix_ms"]]


@pytest.mark.parametrize("row", VECTORS["ranges"]["uuidv7"], ids=lambda row: row["start"])
def test_the_vectors_of_ranges(connection: psycopg.Connection, row: dict[str, Any]) -> None:
    query = "select * from shardflake.uuid_v7_bounds(%s::text::timestamptz, %s::text::timestamptz)"
    assert connection.execute(query, (row["start"], row["end"])).fetchone() == (UUID(row["low"]), UUID(row["high"]))


@pytest.mark.parametrize("row", VECTORS["invalid"]["ulid"], ids=lambda row: row["source"])
@pytest.mark.parametrize("function", ["ulid_to_uuid", "ulid_time"])
def test_bad_ulids_are_refused_by_value_and_rule(connection: psycopg.Connection, row: dict[str, str], function: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(f"select shardflake.{function}(%s)".encode(), (row["text"],))
    assert caught.value.sqlstate == "SF011"
    assert row["rule"] in str(caught.value)
    assert repr(row["text"]) in str(caught.value)
    assert caught.value.diag.message_hint


@pytest.mark.parametrize(
    "row", [row for row in VECTORS["invalid"]["uuidv7"] if "va" in row["rule"] or "version" in row["rule"]]
)
def test_uuids_of_other_kinds_are_refused_by_value_and_rule(connection: psycopg.Connection, row: dict[str, str]) -> None:
    with pytest.raises(psycopg.Error) as caught:
        connection.execute("select shardflake.uuid_v7_time(%s::text::uuid)", (row["text"],))
    assert caught.value.sqlstate == "SF011"
    assert row["rule"] in str(caught.value)
    assert row["text"] in str(caught.value)


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        ("1969-12-31 23:59:59.999+00", "2026-01-01 00:00+00", "can hold the time 1969-12-31"),
        ("2026-01-01 00:00+00", "infinity", "can hold the time infinity"),
        ("-infinity", "2026-01-01 00:00+00", "can hold the time -infinity"),
        ("2026-01-01 00:00+00", "10889-08-02 05:31:50.656+00", "can hold the time 10889-08-02 05:31:50.656"),
        ("2026-01-02 00:00+00", "2026-01-01 00:00+00", "the range ends at 2026-01-01 .*, before it starts at 2026-01-02"),
    ],
)  # fmt: skip
def test_bad_ranges_are_refused(connection: psycopg.Connection, start: str, end: str, message: str) -> None:
    connection.execute("set timezone = 'UTC'")
    with pytest.raises(psycopg.Error, match=message) as caught:
        connection.execute("select shardflake.uuid_v7_bounds(%s::text::timestamptz, %s::text::timestamptz)", (start, end))
    assert caught.value.sqlstate == "SF011"
    assert caught.value.diag.message_hint
