"""Unique and strictly increasing under load; the published algorithm of Instagram, under the same load, is caught."""

from __future__ import annotations

from array import array

import psycopg
import pytest
import sqlalchemy as sa

from shardflake.bench import instagram
from tests.conftest import dsn
from tests.load import Batch, Findings, Load, create_table, examine


def _run(engine: sa.Engine, generator: str, sessions: int, ids: int) -> Findings:
    with psycopg.connect(dsn(engine), autocommit=True) as connection:
        create_table(connection, generator)
    return examine(Load(dsn(engine), generator, sessions, ids // sessions).run())


def test_sixteen_sessions_of_mixed_statements(shard: sa.Engine, request: pytest.FixtureRequest) -> None:
    total = 2_000_000 if request.config.getoption("--pg-bin") else 10_000_000
    findings = _run(shard, "shardflake.next_id()", 16, total)
    assert findings.ids >= total
    assert findings.clean, findings


@pytest.mark.once
def test_the_same_load_catches_instagrams_function(shard: sa.Engine) -> None:
    with psycopg.connect(dsn(shard), autocommit=True) as connection:
        instagram.install(connection, shard_id=5)
    findings = _run(shard, "instagram.next_id()", 16, 1_000_000)
    assert findings.duplicates > 0
    assert findings.session_inversions > 0


def test_logical_shards_share_one_ascending_window(shard: sa.Engine) -> None:
    with psycopg.connect(dsn(shard), autocommit=True) as connection:
        connection.execute("select shardflake.assign_shard(5, logical_shards => '{6,7}')")
    ticks_and_counters = "(shardflake.next_id(6) & ~(8191::bigint << 10))"
    findings = _run(shard, ticks_and_counters, 4, 200_000)
    assert findings.clean, findings


def test_two_thousand_rows_in_one_transaction_and_two_hundred_thousand_in_one_statement(connection: psycopg.Connection) -> None:
    connection.execute("create table t (id bigint default shardflake.next_id(), n integer)")
    with connection.transaction():
        for n in range(2_000):
            connection.execute("insert into t (n) values (%s)", (n,))
    connection.execute("insert into t (n) select n from generate_series(2000, 201999) n")
    row = connection.execute(
        "select count(*), count(distinct id), count(*) filter (where id <= before) "
        "from (select id, lag(id) over (order by n) as before from t) s"
    ).fetchone()
    assert row == (202_000, 202_000, 0)


@pytest.mark.parametrize(
    ("ids", "duplicates", "session_inversions", "order_inversions"),
    [
        ([(0, 0, 1, [1, 2]), (1, 2, 3, [3])], 0, 0, 0),
        ([(0, 0, 1, [1, 2]), (1, 0, 1, [2, 3])], 1, 0, 0),
        ([(0, 0, 1, [2, 1])], 0, 1, 0),
        ([(0, 0, 1, [5]), (0, 2, 3, [4])], 0, 1, 1),
        ([(0, 0, 1, [5]), (1, 2, 3, [4])], 0, 0, 1),
        ([(0, 0, 3, [5]), (1, 2, 4, [4])], 0, 0, 0),
    ],
)
def test_the_findings_are_those_of_samples_worked_out_by_hand(
    ids: list[tuple[int, float, float, list[int]]], duplicates: int, session_inversions: int, order_inversions: int
) -> None:
    findings = examine([Batch(session, start, end, array("q", values)) for session, start, end, values in ids])
    assert (findings.duplicates, findings.session_inversions, findings.order_inversions) == (
        duplicates,
        session_inversions,
        order_inversions,
    )
