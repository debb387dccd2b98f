"""``shardflake partitions``, and the functions behind it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
import sqlalchemy as sa

from shardflake import partitions
from shardflake.errors import InvalidIdError, PartitionError, ServerError
from tests.cli.conftest import Run
from tests.conftest import dsn

START = datetime(2026, 1, 15, tzinfo=UTC)
BEFORE = datetime(2026, 3, 20, tzinfo=UTC)


@pytest.fixture
def orders(connection: psycopg.Connection) -> psycopg.Connection:
    connection.execute('create table "Orders" (id bigint primary key default shardflake.next_id()) partition by range (id)')
    return connection


def test_created_listed_and_detached(orders: psycopg.Connection, shard: sa.Engine, run_on: Callable[[sa.Engine], Run]) -> None:
    run = run_on(shard)
    made = run("partitions", "create", '"Orders"', "--by", "month", "--ahead", "1").stdout.splitlines()
    assert len(made) == 2
    assert made[0].startswith('"Orders_p')
    assert run("partitions", "create", '"Orders"', "--by", "month", "--ahead", "1").stdout == ""
    listed = [json.loads(line) for line in run("partitions", "list", '"Orders"', "--format", "json").stdout.splitlines()]
    assert [part["name"] for part in listed] == made
    assert listed[0]["end"] == listed[1]["start"]
    assert run("partitions", "list", '"Orders"').stdout.count("00:00 to before") == 2
    assert run("partitions", "detach", '"Orders"', "--keep-days", "1").stdout == ""
    partitions.create(shard, '"Orders"', "month", start=datetime.now(UTC) - timedelta(days=100))
    gone = run("partitions", "detach", '"Orders"', "--keep-days", "60", "--drop").stdout.splitlines()
    assert gone
    assert all(line.endswith(" dropped") for line in gone)


def test_detached_partitions_keep_their_rows(orders: psycopg.Connection, shard: sa.Engine) -> None:
    partitions.create(shard, '"Orders"', "month", ahead=0, start=START)
    orders.execute('insert into "Orders" values (shardflake.make_id(%s, 5, 0))', [START])
    assert partitions.detach(shard, '"Orders"', BEFORE) == ['"Orders_p202601"', '"Orders_p202602"']
    assert orders.execute('select count(*) from "Orders_p202601"').fetchone() == (1,)
    assert partitions.detach(shard, '"Orders"', BEFORE) == []
    assert partitions.partitions(shard, '"Orders"')[0].start == datetime(2026, 3, 1, tzinfo=UTC)


def test_a_detach_that_was_cut_off_is_completed(orders: psycopg.Connection, shard: sa.Engine) -> None:
    partitions.create(shard, '"Orders"', "month", ahead=0, start=START)
    with psycopg.connect(dsn(shard)) as reader:
        reader.execute('select * from "Orders"')  # a transaction that uses the table, for which a detach waits
        orders.execute("set statement_timeout = '500ms'")
        with pytest.raises(psycopg.errors.QueryCanceled):
            orders.execute('alter table "Orders" detach partition "Orders_p202601" concurrently')
    assert [part.name for part in partitions.partitions(shard, '"Orders"') if part.detaching] == ['"Orders_p202601"']
    assert partitions.detach(shard, '"Orders"', BEFORE) == ['"Orders_p202601"', '"Orders_p202602"']


def test_errors_say_what_is_wrong(orders: psycopg.Connection, shard: sa.Engine, run_on: Callable[[sa.Engine], Run]) -> None:
    orders.execute("create table plain (id bigint)")
    run = run_on(shard)
    assert "PARTITION BY RANGE (id)" in run("partitions", "create", "plain", "--by", "day", code=1).stderr
    assert "there is no table orders" in run("partitions", "create", "orders", "--by", "day", code=1).stderr
    run("partitions", "create", '"Orders"', "--by", "week", code=2)
    with pytest.raises(PartitionError):
        partitions.create(shard, '"Orders"', "week")
    with pytest.raises(InvalidIdError, match="no time zone"):
        partitions.detach(shard, '"Orders"', datetime(2026, 1, 1))
    partitions.create(shard, '"Orders"', "month", ahead=0, start=START)
    orders.execute('create table rest partition of "Orders" default')
    with pytest.raises(ServerError):
        partitions.detach(shard, '"Orders"', BEFORE)
