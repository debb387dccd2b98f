"""Copies and restores refuse to issue ids until someone vouches for them; then they resume above every id they hold."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql

from shardflake import install
from shardflake.connect import make_engine, translate_errors
from shardflake.errors import IdentityError
from shardflake.server import LocalServer
from tests.conftest import Server, dsn
from tests.sql.test_functions import scalar
from tests.sql.test_generator import refused

ORDERS = "create table orders (id bigint primary key default shardflake.next_id(), n integer)"
MORE = "insert into orders (n) select generate_series(1, 5000) returning id"


def database_name(engine: sa.Engine) -> str:
    return str(psycopg.conninfo.conninfo_to_dict(dsn(engine))["dbname"])


@pytest.mark.parametrize("strategy", ["wal_log", "file_copy"])
def test_a_template_copy_of_a_busy_shard_refuses_and_the_original_goes_on(
    shard: sa.Engine, server: Server, strategy: str
) -> None:
    with psycopg.connect(dsn(shard), autocommit=True) as original:
        original.execute(ORDERS)
        original.execute(MORE)
    copy = f"{database_name(shard)}_copy"
    with psycopg.connect(server.url(), autocommit=True) as admin:
        create = sql.SQL("create database {} template {} strategy {}")
        admin.execute(create.format(sql.Identifier(copy), sql.Identifier(database_name(shard)), sql.Identifier(strategy)))
        try:
            with psycopg.connect(server.url(copy), autocommit=True) as connection:
                refused(connection, MORE, "SF002", "the generator of shard 5 in database .* is a copy or was altered")
                refused(connection, "select shardflake.next_ids(1000)", "SF002", "is a copy")
                assert scalar(connection, "select identity from shardflake.status()") == "copied or altered"
                connection.execute("select shardflake.assign_shard(6, replace => true)")  # the way out for a copy
                assert scalar(connection, "select shardflake.shard_of(shardflake.next_id())") == 6
            with psycopg.connect(dsn(shard), autocommit=True) as original:
                original.execute(MORE)
                assert scalar(original, "select count(distinct id) from orders") == 10_000
        finally:
            admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(copy)))


def test_without_the_file_path_a_copy_would_issue_the_same_ids(shard: sa.Engine, server: Server) -> None:
    """The control: with the check disarmed, the copy above goes on from the same state."""
    with psycopg.connect(dsn(shard), autocommit=True) as original:
        original.execute("create table orders (id bigint default shardflake.next_id(), n integer)")
        original.execute(
            "create or replace function shardflake._window_file() returns text language sql stable parallel safe "
            "return pg_relation_filepath('shardflake._window')"
        )
        original.execute(
            "select setval('shardflake._window', (shardflake._tick() + 5000) << 23)"
        )  # a lead, as after a step back
        original.execute("select setval('shardflake._opened', last_value >> 23) from shardflake._window")
        original.execute("select setval('shardflake._high_water', last_value + 5000) from shardflake._opened")
        boot = "(date_part('epoch', pg_postmaster_start_time()) * 1000000)::bigint"
        original.execute(f"select setval('shardflake._incarnation', {boot})")
    copy = f"{database_name(shard)}_copy"
    with psycopg.connect(server.url(), autocommit=True) as admin:
        admin.execute(
            sql.SQL("create database {} template {}").format(sql.Identifier(copy), sql.Identifier(database_name(shard)))
        )
        try:
            with psycopg.connect(server.url(copy), autocommit=True) as one, psycopg.connect(dsn(shard), autocommit=True) as two:
                ids = [set(connection.execute(MORE).fetchall()) for connection in (one, two)]
            assert ids[0] & ids[1]
        finally:
            admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(copy)))


@pytest.fixture
def dump_and_restore(server: Server, local_server: LocalServer) -> Callable[..., None]:
    """Copies a database into another one with pg_dump and psql."""
    if server is not local_server:
        pytest.skip("needs the server's own pg_dump")

    def copy(source: str, target: str, *options: str) -> None:
        script = local_server.base / f"dump_{os.getpid()}.sql"
        local_server.run("pg_dump", *options, "-f", str(script), "-d", source)
        local_server.run("psql", "-q", "-v", "ON_ERROR_STOP=1", "-f", str(script), "-d", target)

    return copy


def test_a_logical_restore_refuses_until_confirmed_and_then_works_with_an_empty_search_path(
    shard: sa.Engine, database: sa.Engine, dump_and_restore: Callable[..., None]
) -> None:
    with psycopg.connect(dsn(shard), autocommit=True) as original:
        original.execute(ORDERS)
        largest = max(row[0] for row in original.execute(MORE))
    dump_and_restore(dsn(shard), dsn(database))
    with psycopg.connect(dsn(database), autocommit=True) as restored:
        restored.execute("set search_path = ''")
        insert = "insert into public.orders (n) values (1) returning id"
        refused(restored, insert, "SF002", "is a copy or was altered")
        found = install.confirm(database)
        assert (found.columns_checked, found.largest_id) == (1, largest)
        assert scalar(restored, insert) > largest
        assert install.check(database) == ""


@pytest.mark.parametrize("source_is_newer", [True, False])
def test_a_data_only_restore_over_another_shard_repeats_nothing(
    shard: sa.Engine, make_shard: Callable[[int], sa.Engine], dump_and_restore: Callable[..., None], source_is_newer: bool
) -> None:
    """pg_dump --data-only carries setval() for every sequence, the generator's own included."""
    target = make_shard(6)
    draw = "select max(i) from shardflake.next_ids(3000) i"
    with psycopg.connect(dsn(shard), autocommit=True) as source, psycopg.connect(dsn(target), autocommit=True) as connection:
        before = [scalar(either, draw) for either in ((connection, source) if source_is_newer else (source, connection))]
        dump_and_restore(dsn(shard), dsn(target), "--data-only", "--exclude-table-data=shardflake._revision")
        assert scalar(connection, "select shardflake.next_id()") > max(before)


def test_another_cluster_is_noticed_by_its_system_identifier(connection: psycopg.Connection, shard: sa.Engine) -> None:
    connection.execute("select shardflake.next_id()")
    connection.execute(
        "create or replace function shardflake._system_identifier() returns bigint language sql stable parallel safe return 42"
    )
    assert scalar(connection, "select identity from shardflake.status()") == "another cluster"
    connection.execute("select setval('shardflake._incarnation', 1)")  # as a new server would find it
    connection.execute("select pg_sleep(0.2)")
    refused(connection, "select shardflake.next_id()", "SF002", "shard 5 was armed in cluster 42, this is cluster")
    install.confirm(shard)
    assert scalar(connection, "select identity from shardflake.status()") == "confirmed"
    connection.execute("select shardflake.next_id()")


def test_confirm_refuses_ids_ahead_of_the_clock_and_changes_nothing(connection: psycopg.Connection, shard: sa.Engine) -> None:
    connection.execute(ORDERS)
    connection.execute("insert into orders values (shardflake.make_id(now() + interval '1 year', 5, 0), 1)")
    mark = scalar(connection, "select last_value from shardflake._high_water")
    refused(
        connection,
        "select * from shardflake.confirm_identity()",
        "SF005",
        "column id of public.orders holds",
    )
    assert scalar(connection, "select last_value from shardflake._high_water") == mark


def test_confirm_says_which_table_it_may_not_read(make_shard: Callable[[int], sa.Engine], server: Server) -> None:
    engine = make_shard(9)
    role = sql.Identifier(f"sf_owner_{os.getpid()}")
    with psycopg.connect(dsn(engine), autocommit=True) as connection:
        connection.execute(ORDERS)
        connection.execute(sql.SQL("create role {}; grant create, usage on schema shardflake to {}").format(role, role))
        connection.execute(sql.SQL("grant execute on all functions in schema shardflake to {}").format(role))
        connection.execute(sql.SQL("set role {}").format(role))
        try:
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for table orders"):
                connection.execute("select * from shardflake.confirm_identity()")
        finally:
            connection.execute("reset role")
            connection.execute(sql.SQL("drop owned by {}; drop role {}").format(role, role))


def test_replication_fills_the_default_on_the_subscriber(shard: sa.Engine, database: sa.Engine, server: Server) -> None:
    """An apply worker runs with an empty search_path."""
    name = f"sf_pub_{os.getpid()}"
    identifier = sql.Identifier(name)
    with (
        psycopg.connect(dsn(database), autocommit=True) as publisher,
        psycopg.connect(dsn(shard), autocommit=True) as subscriber,
    ):
        if scalar(publisher, "show wal_level") != "logical":
            pytest.skip("needs wal_level = logical")
        publisher.execute("create table events (n integer primary key)")
        publisher.execute(sql.SQL("create publication {} for table events").format(identifier))
        publisher.execute("select pg_create_logical_replication_slot(%s, 'pgoutput')", (name,))
        subscriber.execute("create table events (n integer primary key, id bigint not null default shardflake.next_id())")
        subscriber.execute(
            sql.SQL("create subscription {} connection {} publication {} with (create_slot = false)").format(
                identifier, sql.Literal(dsn(database)), identifier
            )
        )
        try:
            publisher.execute("insert into events select generate_series(1, 1000)")
            for _ in range(100):
                if scalar(subscriber, "select count(distinct id) from events") == 1000:
                    break
                subscriber.execute("select pg_sleep(0.1)")
            assert scalar(subscriber, "select count(distinct id) from events") == 1000
        finally:
            subscriber.execute(sql.SQL("drop subscription {}").format(identifier))


def test_a_standby_refuses_and_says_what_it_is(local_server: LocalServer, shard: sa.Engine, server: Server) -> None:
    if server is not local_server:
        pytest.skip("needs a server of our own")
    with psycopg.connect(dsn(shard), autocommit=True) as primary:
        primary.execute("select shardflake.next_id()")
    standby = LocalServer(local_server.bin_dir)
    try:
        standby.run(
            "pg_basebackup", "-D", str(standby.data), "-d", local_server.url(), "-R", "-X", "stream", "--checkpoint=fast"
        )
        with (standby.data / "postgresql.auto.conf").open("a") as file:
            file.write(f"port = {standby.port}\n")
        standby.start()
        with psycopg.connect(standby.url(database_name(shard)), autocommit=True) as connection:
            with pytest.raises(psycopg.Error, match=r"recovery|read-only"):
                connection.execute("select shardflake.next_id()")
            status = install.status(make_engine(standby.url(database_name(shard))))
            assert (status.identity, status.shard_id) == ("standby", 5)
            assert scalar(connection, "select shardflake.shard_of(5120)") == 5
    finally:
        standby.remove()


def test_python_raises_its_own_errors(shard: sa.Engine, database: sa.Engine, dump_and_restore: Callable[..., None]) -> None:
    dump_and_restore(dsn(shard), dsn(database))
    with pytest.raises(IdentityError) as caught, translate_errors(), database.begin() as connection:
        connection.execute(sa.text("select shardflake.next_id()"))
    assert caught.value.sqlstate == "SF002"
    assert "confirm_identity" in (caught.value.hint or "")


def test_a_session_that_has_planned_already_notices_an_alter(shard: sa.Engine) -> None:
    """The plan depends on the sequence: an ALTER in another session makes it anew, and confirming once more."""
    connect = partial(psycopg.connect, autocommit=True)
    with connect(dsn(shard)) as one, connect(dsn(shard)) as other:
        one.execute("prepare draw as select shardflake.next_id()")
        first = [scalar(one, "execute draw") for _ in range(10)]
        other.execute("alter sequence shardflake._window cache 1")
        refused(one, "execute draw", "SF002", "is a copy or was altered")
        other.execute("select * from shardflake.confirm_identity()")
        assert scalar(one, "execute draw") > max(first)
        plan = "\n".join(row[0] for row in one.execute("explain (verbose) execute draw"))
        assert "nextval" in plan  # on the fast path again
