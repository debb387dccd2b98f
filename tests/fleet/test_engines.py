"""The guides under docs/engines, as they stand there, on real servers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from psycopg.conninfo import conninfo_to_dict

from shardflake import install
from shardflake.connect import make_engine
from shardflake.fleet.file import Shard
from shardflake.fleet.observe import observe
from shardflake.server import LocalServer
from tests.conftest import dsn
from tests.docs.test_pages import ROOT, blocks
from tests.sql.test_functions import scalar

POSTGRES_15 = Path("/usr/lib/postgresql/15/bin")


def page(name: str, shards: list[str]) -> list[str]:
    """Return the SQL of a guide, with the addresses of its shards replaced by these."""
    text = (ROOT / "docs" / "engines" / name).read_text()
    for number, shard in enumerate(shards):
        real = conninfo_to_dict(shard)
        for old, new in {
            f"host 'db{number}.example', port '5432', dbname 'shard_{number}'": (
                f"host '{real['host']}', port '{real['port']}', dbname '{real['dbname']}'"
            ),
            f"host=db{number}.example port=5432 dbname=shard_{number} user=app": shard,
        }.items():
            text = text.replace(old, new)
    return blocks(text.replace("user 'app'", "user 'postgres'"), "sql")


def run(url: str, text: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in text.strip().rstrip(";").split(";\n"):
            connection.execute(statement.encode())


def ask(url: str, query: str, **parameters: object) -> object:
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        row = cursor.execute(query.replace(":id", "%(id)s").encode(), parameters).fetchone()
        return row[0] if row is not None else None


def test_a_coordinator_with_foreign_partitions(
    make_shard: Callable[[int], sa.Engine], make_database: Callable[..., sa.Engine], installed_template: str
) -> None:
    shards = [dsn(make_shard(number)) for number in (0, 1)]
    coordinator = dsn(make_database(installed_template))
    if ask(coordinator, "select count(*) from pg_available_extensions where name = 'postgres_fdw'") == 0:
        pytest.skip("this server comes without postgres_fdw")
    table, setup, inserts, lookup, hidden, wrong = page("postgres_fdw.md", shards)
    for shard in shards:
        run(shard, table)
    run(coordinator, setup)
    run(coordinator, inserts)
    rows = [ask(shard, "select (shardflake.shard_of(id), total)::text from orders") for shard in shards]
    assert rows == ["(100,1)", "(101,2)"]
    first = ask(shards[1], "select id from orders")
    assert ask(coordinator, lookup, id=first) == 2
    with psycopg.connect(coordinator) as connection:
        plan = connection.execute(f"explain {lookup}".replace(":id", str(first)).encode()).fetchall()
    assert "orders_1" in str(plan)
    assert "orders_0" not in str(plan)
    run(coordinator, hidden)
    assert ask(shards[0], "select shardflake.shard_of(id) from orders where total = 3") == 0
    with pytest.raises(psycopg.errors.NotNullViolation):
        run(coordinator, wrong)
    assert observe(Shard("coordinator", coordinator)).columns == ()
    run(coordinator, "alter table orders detach partition orders_0;\nalter foreign table orders_0 alter id drop default")
    run(coordinator, "alter table orders attach partition orders_0 for values in (100)")
    assert [(found.kind, found.table) for found in observe(Shard("coordinator", coordinator)).columns] == [
        ("partition", "orders_0")
    ]


@pytest.fixture
def proxy_server() -> Iterator[LocalServer]:
    """A PostgreSQL 15 with Debian's PL/Proxy."""
    if not (POSTGRES_15.parents[3] / "share/postgresql/15/extension/plproxy.control").exists():
        if os.environ.get("CI"):
            pytest.fail("postgresql-15-plproxy is not installed")
        pytest.skip("postgresql-15-plproxy is not installed")
    with LocalServer(POSTGRES_15, {"fsync": "off", "shared_buffers": "32MB"}) as server:
        yield server


def test_plproxy_runs_on_the_low_bits_of_the_shard_id(proxy_server: LocalServer) -> None:
    with psycopg.connect(proxy_server.url(), autocommit=True) as connection:
        for name in ("shard_0", "shard_1", "proxy"):
            connection.execute(f"create database {name}".encode())
    shards = [f"host=127.0.0.1 port={proxy_server.port} dbname=shard_{number} user=postgres" for number in (0, 1)]
    proxy = proxy_server.url("proxy")
    install.upgrade(make_engine(proxy))
    table, setup, calls = page("plproxy.md", shards)
    for number, shard in enumerate(shards):
        install.upgrade(make_engine(shard), number)
        run(shard, table)
    run(proxy, setup)
    add, look = calls.strip().split("\n")
    with psycopg.connect(proxy, autocommit=True) as connection:
        totals = {scalar(connection, add.replace("7", str(number))): number for number in range(40)}
        assert {scalar(connection, look.replace(":id", str(number))) for number in totals} == set(range(40))
    assert {number >> 10 & 8191 for number in totals} == {0, 1}
    for number, shard in enumerate(shards):
        here = [key for key in totals if key >> 10 & 8191 == number]
        assert ask(shard, "select count(*) from orders") == len(here)
        assert ask(shard, "select max(id) from orders") == max(here)


def test_logical_replication_keeps_the_ids(make_shard: Callable[[int], sa.Engine]) -> None:
    publisher, subscriber = (dsn(make_shard(number)) for number in (0, 1))
    if ask(publisher, "show wal_level") != "logical":
        pytest.skip("the server's wal_level is not logical")
    first, second = page("logical-replication.md", [publisher])
    run(publisher, first)
    try:
        run(subscriber, second)
        for _ in range(300):
            if ask(subscriber, "select count(*) from orders") == 200:
                break
            time.sleep(0.1)
        query = "select string_agg(id::text, ',' order by id) from orders where shardflake.shard_of(id) = 0"
        assert ask(subscriber, query) == ask(publisher, query)
        assert ask(subscriber, "select count(distinct id) from orders") == 200
        assert ask(subscriber, "select identity from shardflake.status()") == "confirmed"
    finally:
        for statement in (
            "alter subscription shop disable",
            "alter subscription shop set (slot_name = none)",
            "drop subscription shop",
        ):
            run(subscriber, statement)
        for _ in range(100):
            if ask(publisher, "select active from pg_replication_slots where slot_name = 'shop'") is False:
                break
            time.sleep(0.1)
        run(publisher, "select pg_drop_replication_slot('shop')")
