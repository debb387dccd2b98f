"""At the edges: counters that overflow while the opener is paused, into the next tick, and a flood of wasted draws."""

from __future__ import annotations

import threading

import psycopg
import pytest
import sqlalchemy as sa

from tests.conftest import dsn
from tests.reliability.attack import replace_function
from tests.sql.test_functions import scalar

HOLD = "select pg_advisory_lock('shardflake._window'::regclass::oid::integer, 1936287346)"
RELEASE = "select pg_advisory_unlock('shardflake._window'::regclass::oid::integer, 1936287346)"


def draw_while_the_opener_is_paused(shard: sa.Engine, flood: int) -> list[int]:
    """Draw in four sessions while a fifth holds the generator's lock, flood the window with draws, and let go."""
    ids: list[int] = []

    def draw() -> None:
        with psycopg.connect(dsn(shard), autocommit=True) as connection:
            query = "select shardflake.next_id() from generate_series(1, 3000)"
            ids.extend(row[0] for row in connection.execute(query))

    with psycopg.connect(dsn(shard), autocommit=True) as opener:
        ids.append(scalar(opener, "select shardflake.next_id()"))
        opener.execute(HOLD)
        threads = [threading.Thread(target=draw) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(100):
            if scalar(opener, "select count(*) from pg_locks where locktype = 'advisory' and not granted") == 4:
                break
            opener.execute("select pg_sleep(0.05)")
        opener.execute("select count(nextval('shardflake._window')) from generate_series(1, %s)", (flood,))
        opener.execute(RELEASE)
        for thread in threads:
            thread.join()
    return ids


@pytest.mark.parametrize("flood", [0, 1_000_000])
def test_draws_that_overflow_while_the_opener_is_paused_are_void(shard: sa.Engine, flood: int) -> None:
    ids = draw_while_the_opener_is_paused(shard, flood)
    assert len(ids) == len(set(ids)) == 12_001


def test_a_generator_that_counts_overflowing_draws_is_caught(shard: sa.Engine) -> None:
    """The control: counters above 1,023 run into the bits of the shard id."""
    with psycopg.connect(dsn(shard), autocommit=True) as connection:
        replace_function(connection, "_is_due(bigint)", ("(1023)::bigint", "(8388607)::bigint"))
    ids = draw_while_the_opener_is_paused(shard, 0)
    assert len(ids) != len(set(ids))


def test_draws_that_run_into_the_next_tick_are_covered_by_the_mark(connection: psycopg.Connection) -> None:
    """2^23 wasted draws carry the counter into the next millisecond; those draws are unique, and below the mark."""
    last = scalar(connection, "select shardflake.next_id()")
    connection.execute("select setval('shardflake._window', (shardflake._tick() << 23) | 8388600)")
    connection.execute("select setval('shardflake._opened', last_value >> 23) from shardflake._window")
    connection.execute("select count(nextval('shardflake._window')) from generate_series(1, 8)")
    assert scalar(connection, "select last_value & 8388607 from shardflake._window") == 0  # in the next tick
    ids = [row[0] for row in connection.execute("select shardflake.next_id() from generate_series(1, 5000)")]
    assert [last, *ids] == sorted({last, *ids})
    assert max(ids) >> 23 < scalar(connection, "select last_value from shardflake._high_water")
