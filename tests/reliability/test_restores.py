"""What each way of copying, restoring and upgrading a cluster does to the generator; the guarantees page says the same."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from shardflake import install
from shardflake.connect import make_engine
from shardflake.server import LocalServer, embedded_bin_dir
from tests.reliability.attack import attacked_server, replace_function, server_with_clock
from tests.reliability.failover import copy_from
from tests.sql.test_functions import scalar
from tests.sql.test_generator import refused

TABLE = "create table orders (id bigint primary key default shardflake.next_id(), n integer)"
INSERT = "insert into orders (n) select generate_series(1, 1000) returning id"
POSTGRES_15 = Path("/usr/lib/postgresql/15/bin")


@pytest.fixture
def primary(bin_dir: Path | None, tmp_path: Path) -> Iterator[LocalServer]:
    """A shard with a thousand orders that archives its WAL."""
    archive = tmp_path / "archive"
    archive.mkdir()
    for directory in (archive, *archive.parents[:-1]):
        directory.chmod(directory.stat().st_mode | 0o055)
    archive.chmod(0o777)
    with attacked_server(bin_dir, archive_mode="on", archive_command=f"cp %p {archive}/%f") as server:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(TABLE)
            connection.execute(INSERT)
        yield server


@pytest.fixture
def standby(primary: LocalServer) -> Iterator[LocalServer]:
    """A streaming standby of it."""
    with psycopg.connect(primary.url(), autocommit=True) as connection:
        scalar(connection, "select pg_switch_wal()")
    copy = LocalServer(primary.bin_dir)
    try:
        copy_from(primary, copy)
        yield copy
    finally:
        copy.remove()


def insert(server: LocalServer) -> list[int]:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        return [row[0] for row in connection.execute(INSERT)]


def promote(server: LocalServer) -> None:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        assert scalar(connection, "select pg_promote()")


def test_a_promoted_base_backup_resumes_above_every_row(primary: LocalServer, standby: LocalServer) -> None:
    standby.start()
    before = insert(primary)
    time.sleep(0.5)
    primary.stop("immediate")
    promote(standby)
    assert min(insert(standby)) > max(before)
    assert install.status(make_engine(standby.url())).identity == "confirmed"
    assert install.check(make_engine(standby.url())) == ""


def test_failing_over_and_back_repeats_nothing(primary: LocalServer, standby: LocalServer) -> None:
    """A to B, B is the source of a new A, and back to that."""
    standby.start()
    ids = insert(primary)
    time.sleep(0.5)
    primary.stop("immediate")
    promote(standby)
    ids += insert(standby)
    back = LocalServer(primary.bin_dir)
    try:
        copy_from(standby, back)
        back.start()
        ids += insert(standby)
        time.sleep(0.5)
        standby.stop("immediate")
        promote(back)
        ids += insert(back)
    finally:
        back.remove()
    assert ids == sorted(set(ids))


def test_recovery_to_an_earlier_point_resumes_above_every_row(
    primary: LocalServer, standby: LocalServer, tmp_path: Path
) -> None:
    kept = insert(primary)
    with psycopg.connect(primary.url(), autocommit=True) as connection:
        target = scalar(connection, "select pg_current_wal_lsn()")
        lost = insert(primary)
        connection.execute("select pg_switch_wal()")
        time.sleep(1.0)
    primary.stop()
    (standby.data / "standby.signal").unlink()
    (standby.data / "recovery.signal").touch()
    with (standby.data / "postgresql.auto.conf").open("a") as file:
        file.write("primary_conninfo = ''\n" + f"restore_command = 'cp {tmp_path}/archive/%f %p'\n")
        file.write(f"recovery_target_lsn = '{target}'\nrecovery_target_action = 'promote'\narchive_mode = off\n")
    standby.start()
    with psycopg.connect(standby.url(), autocommit=True) as connection:
        for _ in range(100):
            if not scalar(connection, "select pg_is_in_recovery()"):
                break
            time.sleep(0.1)
        assert scalar(connection, "select max(id) from orders") == max(kept)
    assert min(insert(standby)) > max(kept + lost)


def test_a_cold_copy_looks_the_same_until_it_is_given_another_shard_id(primary: LocalServer, standby: LocalServer) -> None:
    """What the generator cannot notice, and the way out."""
    (standby.data / "standby.signal").unlink()
    with (standby.data / "postgresql.auto.conf").open("a") as file:
        file.write("archive_mode = off\n")
    standby.start()
    assert install.status(make_engine(standby.url())).identity == "confirmed"
    install.assign(make_engine(standby.url()), 6, replace=True)
    assert not set(insert(standby)) & set(insert(primary))


@pytest.mark.skipif(not (POSTGRES_15 / "pg_upgrade").exists(), reason="PostgreSQL 15 is not installed")
def test_pg_upgrade_refuses_until_confirmed(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--pg-bin"):
        pytest.skip("upgrades from PostgreSQL 15 to the embedded 18, whatever --pg-bin is")
    with attacked_server(POSTGRES_15) as old:
        with psycopg.connect(old.url(), autocommit=True) as connection:
            connection.execute(TABLE)
        before = insert(old)
        old.stop()
        new = LocalServer(embedded_bin_dir())
        try:
            new.create("--no-data-checksums")
            directories = ("-b", str(old.bin_dir), "-B", str(new.bin_dir), "-d", str(old.data), "-D", str(new.data))
            new.run("pg_upgrade", *directories, "-p", str(old.port), "-P", str(new.port), "-s", str(new.base), cwd=new.base)
            new.start()
            with psycopg.connect(new.url(), autocommit=True) as connection:
                refused(connection, INSERT, "SF002", "is a copy or was altered|was armed in cluster")
            found = install.confirm(make_engine(new.url()))
            assert found.largest_id == max(before)
            assert min(insert(new)) > max(before)
            assert install.check(make_engine(new.url())) == ""
        finally:
            new.remove()


@pytest.mark.parametrize("checked", [True, False], ids=["as it is", "without the file on the fast path"])
def test_a_copy_whose_window_is_near_the_clock_draws_nothing(bin_dir: Path | None, checked: bool) -> None:
    """The clock is set back to the moment of the copy: the fast path of both databases would accept the same window."""
    with server_with_clock(bin_dir) as (server, clock):
        with psycopg.connect(server.url(), autocommit=True) as admin:
            admin.execute("create database shop")
        install.upgrade(make_engine(server.url("shop")), shard_id=7)
        with psycopg.connect(server.url("shop"), autocommit=True) as original:
            if not checked:
                replace_function(original, "_is_window_file(text)", ("return pg_relation", "return true or pg_relation"))
            drawn = scalar(original, "select shardflake.next_id() >> 23")
        with psycopg.connect(server.url(), autocommit=True) as admin:
            admin.execute("create database copy template shop")
            now = scalar(admin, "select floor(extract(epoch from clock_timestamp()) * 1000)::bigint - 1735689600000")
        clock.step((drawn - now - 100) / 1000)
        received: list[set[int]] = []
        for name in ("copy", "shop"):
            with psycopg.connect(server.url(name), autocommit=True) as connection:
                _wait_for_tick(connection, drawn - 60)
                try:
                    rows = connection.execute("select shardflake.next_id() from generate_series(1, 100)").fetchall()
                except psycopg.Error as error:
                    received.append(set())
                    sqlstate = error.sqlstate
                else:
                    received.append({row[0] for row in rows})
        assert received[1]
        assert bool(received[0] & received[1]) != checked
        if checked:
            assert sqlstate == "SF002"


def _wait_for_tick(connection: psycopg.Connection, tick: int) -> None:
    while scalar(connection, "select shardflake._tick()") < tick:
        pass
