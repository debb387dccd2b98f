"""Partitions by time: made ahead, again and at once, named and bounded in UTC, pruned, and detached."""

from __future__ import annotations

import threading

import psycopg
import pytest
import sqlalchemy as sa

from tests.conftest import dsn


@pytest.fixture
def orders(connection: psycopg.Connection) -> psycopg.Connection:
    connection.execute(
        "create table orders (id bigint primary key default shardflake.next_id(), item text not null) partition by range (id)"
    )
    return connection


def names(connection: psycopg.Connection, unit: str, ahead: int, from_time: str | None = None) -> list[str]:
    query = "select shardflake.create_partitions('orders', %s, ahead => %s, from_time => %s)::text"
    return [row[0] for row in connection.execute(query, [unit, ahead, from_time])]


def one(connection: psycopg.Connection, query: str) -> object:
    row = connection.execute(query).fetchone()
    assert row is not None
    return row[0]


@pytest.mark.parametrize(("unit", "pattern"), [("day", "YYYYMMDD"), ("month", "YYYYMM")])
def test_names_and_bounds_are_in_utc(orders: psycopg.Connection, unit: str, pattern: str) -> None:
    orders.execute("set timezone = 'Pacific/Auckland'")
    made = names(orders, unit, 2)
    expected = [
        one(
            orders,
            f"select 'orders_p' || to_char(date_trunc('{unit}', now() at time zone 'UTC') "
            f"+ interval '{n} {unit}', '{pattern}')",
        )
        for n in range(3)
    ]
    assert made == expected
    bounds = "select from_time, lag(until_time) over (order by from_id) as before from shardflake.partitions('orders')"
    assert one(orders, f"select count(*) from ({bounds}) x where before is not null and before <> from_time") == 0
    assert (
        one(orders, f"select min(from_time) = date_trunc('{unit}', now(), 'UTC') from shardflake.partitions('orders')") is True
    )


def test_running_again_makes_what_is_missing(orders: psycopg.Connection) -> None:
    assert len(names(orders, "month", 2)) == 3
    assert names(orders, "month", 2) == []
    assert len(names(orders, "month", 4)) == 2
    orders.execute(f"drop table {one(orders, 'select partition from shardflake.partitions($$orders$$) offset 1 limit 1')}")
    assert len(names(orders, "month", 4)) == 1
    assert len(names(orders, "month", 4, "2026-01-15 12:00+00")) == one(
        orders, "select count(*) from shardflake.partitions('orders') where from_time < date_trunc('month', now(), 'UTC')"
    )


def test_rows_go_into_their_partitions_by_default(orders: psycopg.Connection) -> None:
    orders.execute("create index on orders (item); alter table orders add check (item <> '')")
    [first, *_] = names(orders, "day", 1)
    orders.execute("insert into orders (item) select 'x' from generate_series(1, 10)")
    assert one(orders, f"select count(*) from {first}") == 10
    orders.execute(f"insert into {first} (item) values ('straight into it')")  # it has the default too
    assert one(orders, f"select count(*) from pg_index where indrelid = '{first}'::regclass") == 2
    columns = [row[0] for row in orders.execute("select table_name::text from shardflake.id_columns()")]
    assert first in columns
    with pytest.raises(psycopg.errors.CheckViolation):
        orders.execute("insert into orders (item) values ('')")
    orders.execute("select shardflake.set_id_default('orders', 'id')")


def test_the_owner_of_the_table_owns_the_partitions(orders: psycopg.Connection) -> None:
    orders.execute('create schema "A b"; create role "table Owner"; grant all on schema "A b" to "table Owner"')
    try:
        orders.execute('create table "A b"."O rders" (id bigint) partition by range (id)')
        orders.execute('alter table "A b"."O rders" owner to "table Owner"')
        query = """select shardflake.create_partitions('"A b"."O rders"', 'month', 0)::text"""
        name = one(orders, query)
        assert str(name).startswith('"A b"."O rders_p')
        assert one(orders, f"select relowner::regrole::text from pg_class where oid = '{name}'::regclass") == '"table Owner"'
    finally:
        orders.execute('drop schema "A b" cascade; drop role "table Owner"')


def test_runs_at_once_make_each_partition_once(shard: sa.Engine, orders: psycopg.Connection) -> None:
    made: list[str] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            with psycopg.connect(dsn(shard)) as session:
                made.extend(names(session, "day", 9))
        except psycopg.Error as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(made) == [row[0] for row in orders.execute("select partition::text from shardflake.partitions('orders')")]
    assert len(made) == 10


def test_after_a_failure_the_next_run_finishes(orders: psycopg.Connection) -> None:
    third = one(orders, "select to_char(date_trunc('month', now() at time zone 'UTC') + interval '2 months', 'YYYYMM')")
    orders.execute(f"create table orders_p{third} (id bigint, other text)")
    with pytest.raises(psycopg.Error, match=f"orders_p{third} exists, but is not the partition") as raised:
        names(orders, "month", 3)
    assert raised.value.sqlstate == "SF041"
    assert one(orders, "select count(*) from shardflake.partitions('orders')") == 0  # all or nothing
    orders.execute(f"alter table orders_p{third} rename to something_else")
    assert len(names(orders, "month", 3)) == 4


@pytest.mark.parametrize(
    ("table", "unit", "ahead", "message"),
    [
        ("orders", "week", 1, "by week"),
        ("orders", None, 1, "by NULL"),
        ("orders", "day", -1, "-1 ahead"),
        ("orders", "day", 1001, "1001 ahead"),
        ("plain", "day", 1, "not partitioned"),
        ("by_text", "day", 1, "not partitioned"),
        ("t" * 60, "day", 1, "longer than 63 bytes"),
    ],
)
def test_what_cannot_be_done_is_refused(
    orders: psycopg.Connection, table: str, unit: str | None, ahead: int, message: str
) -> None:
    orders.execute("create table plain (id bigint); create table by_text (id text) partition by range (id)")
    orders.execute(f"create table {'t' * 60} (id bigint) partition by range (id)")
    with pytest.raises(psycopg.Error, match=message) as raised:
        orders.execute("select shardflake.create_partitions(%s, %s, %s)", [table, unit, ahead])
    assert raised.value.sqlstate == "SF041"
    assert raised.value.diag.message_hint


def test_reads_and_writes_go_on_meanwhile(shard: sa.Engine, orders: psycopg.Connection) -> None:
    names(orders, "day", 0)
    with psycopg.connect(dsn(shard)) as writer, psycopg.connect(dsn(shard)) as maker:
        writer.execute("insert into orders (item) values ('x')")  # its transaction stays open
        maker.execute("set lock_timeout = '1s'")
        assert len(names(maker, "day", 3)) == 3  # and so does this one
        orders.execute("set lock_timeout = '1s'")
        orders.execute("insert into orders (item) values ('y')")
        with pytest.raises(psycopg.errors.LockNotAvailable):  # the control: what creating them in place would need
            orders.execute("create table elsewhere partition of orders for values from (1) to (2)")


def test_times_prune_partitions(orders: psycopg.Connection) -> None:
    names(orders, "month", 0, "2026-01-01 00:00+00")
    low, high = "shardflake.min_id('2026-03-05 00:00+00')", "shardflake.min_id('2026-03-06 00:00+00')"
    query = f"explain select * from orders where id >= {low} and id < {high}"
    plan = "\n".join(row[0] for row in orders.execute(query))
    assert "orders_p202603" in plan
    assert plan.count("orders_p2") == plan.count("orders_p202603")
    whole = "\n".join(
        row[0] for row in orders.execute("explain select * from orders where shardflake.timestamp_of(id) < '2026-02-01'")
    )
    assert "orders_p202605" in whole  # the control: a condition on the time itself reads them all


def test_old_partitions_are_detached_by_their_list(orders: psycopg.Connection) -> None:
    names(orders, "month", 0, "2026-01-01 00:00+00")
    orders.execute("insert into orders values (shardflake.make_id('2026-01-31 23:59:59.999+00', 5, 1023), 'kept aside')")
    query = (
        "select partition::text from shardflake.partitions('orders') where until_id <= shardflake.min_id('2026-03-15 00:00+00')"
    )
    old = [row[0] for row in orders.execute(query)]
    assert old == ["orders_p202601", "orders_p202602"]
    for name in old:
        orders.execute(f"alter table orders detach partition {name} concurrently")
    assert one(orders, "select item from orders_p202601") == "kept aside"
    assert one(orders, "select count(*) from orders") == 0
    assert one(orders, "select min(from_time) = '2026-03-01 00:00+00' from shardflake.partitions('orders')") is True


def test_default_partitions_and_open_ends_are_listed_without_bounds(orders: psycopg.Connection) -> None:
    orders.execute("create table rest partition of orders default")
    orders.execute("create table first partition of orders for values from (minvalue) to (8388608)")
    rows = orders.execute("select partition::text, from_id, until_id from shardflake.partitions('orders')").fetchall()
    assert rows == [("first", None, 8388608), ("rest", None, None)]
