"""Every order of two and three sessions in the slow path gives every id once; without the lock, some order does not."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest
import sqlalchemy as sa

from tests.conftest import dsn
from tests.reliability.interleave import NOW, Explorer, make_test_build

ONE = "select array_agg(shardflake.next_id() order by 1) from generate_series(1, 1)"
BATCH = "select array_agg(i) from shardflake.next_ids(1500) i"
BOOT = "(date_part('epoch', pg_postmaster_start_time()) * 1000000)::bigint"


def stale(connection: psycopg.Connection) -> None:
    """The last window was opened a second ago: everyone needs a new one."""
    connection.execute(
        f"select setval('shardflake._window', {NOW - 1000}::bigint << 23), setval('shardflake._opened', {NOW - 1000}), "
        f"setval('shardflake._high_water', {NOW + 2000}), setval('shardflake._incarnation', {BOOT})"
    )


def used_up(connection: psycopg.Connection) -> None:
    """The counter of the present window has come to its end."""
    stale(connection)
    connection.execute(
        f"select setval('shardflake._window', ({NOW}::bigint << 23) | 1023), setval('shardflake._opened', {NOW})"
    )


def after_a_crash(connection: psycopg.Connection) -> None:
    """The unlogged sequences are new; the mark is what it was."""
    connection.execute(
        f"select setval('shardflake._window', 0), setval('shardflake._opened', 0), setval('shardflake._incarnation', 0), "
        f"setval('shardflake._high_water', {NOW + 500})"
    )


@pytest.mark.parametrize("reset", [stale, used_up, after_a_crash])
@pytest.mark.parametrize(
    "calls",
    [
        pytest.param([ONE, ONE], id="two"),
        pytest.param([ONE, BATCH], id="one and a batch"),
        pytest.param([ONE, ONE, ONE], id="three", marks=pytest.mark.once),
    ],
)
def test_no_order_gives_an_id_twice(shard: sa.Engine, calls: list[str], reset: Callable[[psycopg.Connection], None]) -> None:
    with psycopg.connect(dsn(shard), autocommit=True) as connection:
        make_test_build(connection)
    explorer = Explorer(dsn(shard), calls, reset)
    try:
        result = explorer.explore(limit=20_000)
    finally:
        explorer.close()
    assert result.orders > 1
    assert result.duplicates == []
    print(result.orders)


@pytest.mark.once
def test_without_the_lock_some_order_does(shard: sa.Engine) -> None:
    with psycopg.connect(dsn(shard), autocommit=True) as connection:
        make_test_build(connection, lock=False)
    explorer = Explorer(dsn(shard), [ONE, ONE], stale)
    try:
        result = explorer.explore(limit=1000)
    finally:
        explorer.close()
    assert result.duplicates
