"""What the generator refuses, where it keeps to the clock, and that it goes on beside other work."""

from __future__ import annotations

import threading
from collections.abc import Callable

import psycopg
import pytest
import sqlalchemy as sa
from psycopg.rows import scalar_row

from tests.conftest import dsn
from tests.sql.test_functions import scalar

WINDOW_TICK = "select last_value >> 23 from shardflake._window"
NOW = "select shardflake._tick()"


def refused(connection: psycopg.Connection, query: str, sqlstate: str, message: str) -> psycopg.Error:
    """Run a query that must be refused with a SQLSTATE, a message and a hint, and return the error."""
    with pytest.raises(psycopg.Error, match=message) as caught:
        connection.execute(query)
    assert caught.value.sqlstate == sqlstate
    assert caught.value.diag.message_hint
    return caught.value


def test_a_database_without_a_shard_id_refuses(make_database: Callable[..., sa.Engine], installed_template: str) -> None:
    with psycopg.connect(dsn(make_database(installed_template)), autocommit=True) as connection:
        for call in ("next_id()", "next_id(5)", "next_ids(1)", "next_ids(1000)"):
            refused(connection, f"select shardflake.{call}", "SF001", "has no shard id yet")
        refused(connection, "select shardflake._open_window(1)", "SF001", "has no shard id yet")
        assert scalar(connection, "select is_called from shardflake._window") is False  # nothing was drawn


@pytest.mark.parametrize("shard_id", ["-1", "8192", "null"])
def test_a_shard_id_out_of_range_is_refused(connection: psycopg.Connection, shard_id: str) -> None:
    refused(connection, f"select shardflake.assign_shard({shard_id})", "SF007", "is not between 0 and 8191")
    refused(
        connection, f"select shardflake.assign_shard(5, logical_shards => array[1, {shard_id}])", "SF007", "between 0 and 8191"
    )
    assert scalar(connection, "select shardflake.shard_id()") == 5


def test_a_second_shard_id_is_refused_and_the_same_one_changes_options(connection: psycopg.Connection) -> None:
    refused(
        connection, "select shardflake.assign_shard(6)", "SF008", "this database is shard 5 already, it cannot become shard 6"
    )
    connection.execute("select shardflake.assign_shard(5, logical_shards => '{9,7}', max_lead => '2 s')")
    query = "select logical_shards, max_lead from shardflake.status()"
    row = connection.execute(query).fetchone()
    assert row is not None
    assert (row[0], row[1].total_seconds()) == ([5, 7, 9], 2.0)
    connection.execute("select shardflake.assign_shard(5)")
    assert connection.execute(query).fetchone() == row
    refused(connection, "select shardflake.assign_shard(5, max_lead => '-1 s')", "SF007", "max_lead")


@pytest.mark.parametrize("shard_id", [0, 8191])
def test_first_and_last_shard(make_shard: Callable[[int], sa.Engine], shard_id: int) -> None:
    with psycopg.connect(dsn(make_shard(shard_id)), autocommit=True) as connection:
        assert scalar(connection, "select shardflake.shard_of(shardflake.next_id())") == shard_id
        assert scalar(connection, "select array_agg(distinct shardflake.shard_of(i)) from shardflake.next_ids(3000) i") == [
            shard_id
        ]


def test_logical_shards_are_issued_if_owned(connection: psycopg.Connection) -> None:
    connection.execute("select shardflake.assign_shard(5, logical_shards => '{7}')")
    assert scalar(connection, "select shardflake.shard_of(shardflake.next_id(7))") == 7
    assert scalar(connection, "select shardflake.shard_of(shardflake.next_id(5))") == 5
    refused(connection, "select shardflake.next_id(8)", "SF009", r"shard 8 is not one of this database's shards \{5,7\}")
    refused(connection, "select shardflake.next_id(null)", "SF009", "shard NULL is not one")
    connection.execute("create table t (id bigint default shardflake.next_id(7), n integer)")
    connection.execute("insert into t (n) values (1)")
    assert scalar(connection, "select shardflake.shard_of(id) from t") == 7


def test_a_prepared_statement_follows_a_new_shard_id(connection: psycopg.Connection) -> None:
    connection.execute("prepare draw as select shardflake.shard_of(shardflake.next_id())")
    assert [scalar(connection, "execute draw") for _ in range(10)] == [5] * 10
    connection.execute("select shardflake.assign_shard(6, replace => true)")
    assert scalar(connection, "execute draw") == 6


@pytest.mark.parametrize("count", ["0", "-1", "102401", "null"])
def test_next_ids_refuses_other_counts(connection: psycopg.Connection, count: str) -> None:
    refused(connection, f"select shardflake.next_ids({count})", "SF010", "cannot claim")


@pytest.mark.parametrize("count", [1, 255, 256, 1023, 1024, 1025, 2048, 102_400])
def test_next_ids_gives_so_many_ascending_ids_between_its_neighbours(connection: psycopg.Connection, count: int) -> None:
    before = scalar(connection, "select shardflake.next_id()")
    with connection.cursor(row_factory=scalar_row) as cursor:
        ids = cursor.execute("select shardflake.next_ids(%s)", (count,)).fetchall()
    after = scalar(connection, "select shardflake.next_id()")
    everything = [before, *ids, after]
    assert len(ids) == count
    assert everything == sorted(set(everything))


def test_ids_are_near_the_clock(connection: psycopg.Connection) -> None:
    """From 20 ms behind to 127 ms ahead, single draws and the densest load alike; measured around each statement."""
    connection.execute("select shardflake.next_id()")
    for query in (
        "select shardflake.next_id() from generate_series(1, 1)",
        "select shardflake.next_id() from generate_series(1, 200000)",
        "select shardflake.next_ids(100000)",
    ):
        for _ in range(20):
            before = scalar(connection, NOW)
            low, high = connection.execute(f"select min(i) >> 23, max(i) >> 23 from ({query}) s (i)").fetchone() or (0, 0)
            after = scalar(connection, NOW)
            assert before - 20 <= low
            assert high <= after + 127


def test_the_lead_does_not_grow_when_every_call_takes_the_slow_path(connection: psycopg.Connection) -> None:
    """A window opened ahead of the clock takes a millisecond at least, so ids come no nearer to max_lead by themselves."""
    connection.execute("select shardflake.next_id()")
    ahead = 4_000
    connection.execute(f"select setval('shardflake._window', (shardflake._tick() + {ahead}) << 23 | 1023)")
    connection.execute("select setval('shardflake._opened', last_value >> 23) from shardflake._window")
    connection.execute("select setval('shardflake._high_water', last_value + 60000) from shardflake._opened")
    connection.execute("select count(*) from generate_series(0, 299) n, lateral shardflake.next_ids(1024 + n * 0)")
    assert scalar(connection, "select (last_value >> 23) - shardflake._tick() from shardflake._window") <= ahead + 2


def test_max_lead_refuses_past_it_and_resumes(connection: psycopg.Connection) -> None:
    connection.execute("select shardflake.next_id()")
    move = (
        "select setval('shardflake._window', (shardflake._tick() + {0}) << 23), "
        "setval('shardflake._opened', shardflake._tick() + {0}), "
        "setval('shardflake._high_water', shardflake._tick() + {0} + 5000)"
    )
    connection.execute(move.format(11_000))  # as if the clock had been set back 11 s
    refused(connection, "select shardflake.next_id()", "SF005", r"the clock is 1[01]\d{3} ms behind")
    refused(connection, "select shardflake.next_ids(5000)", "SF005", "the clock is")
    connection.execute("select shardflake.assign_shard(5, max_lead => '1 minute')")
    first = scalar(connection, "select shardflake.next_id()")
    assert scalar(connection, "select shardflake.next_id()") > first
    connection.execute("select shardflake.assign_shard(5, max_lead => '0')")
    refused(connection, "select shardflake.next_id()", "SF005", "more than the 127 ms allowed")


def test_the_end_of_the_time_field_is_refused(connection: psycopg.Connection) -> None:
    connection.execute("select shardflake.next_id()")
    last = 2**40 - 1
    connection.execute(f"select setval('shardflake._high_water', {last}), setval('shardflake._opened', {last})")
    connection.execute(f"select setval('shardflake._window', ({last}::bigint << 23) | 1023)")
    refused(connection, "select shardflake.next_id()", "SF004", "the 40-bit time field of shard 5 ends at 2059-11-04")


@pytest.mark.parametrize(
    ("damage", "sqlstate", "message"),
    [
        ("alter sequence shardflake._window restart", "SF002", "is a copy or was altered"),
        ("alter sequence shardflake._window set logged", "SF002", "is a copy or was altered"),
        (
            "select setval('shardflake._window', last_value - (50::bigint << 23)) from shardflake._window",
            "SF002",
            "moved by hand",
        ),
        (
            "select setval('shardflake._window', last_value + (1000000::bigint << 23)) from shardflake._window",
            "SF002",
            "moved by hand",
        ),
        ("select setval('shardflake._high_water', 1)", "SF002", "moved by hand"),
        ("alter sequence shardflake._high_water restart", "SF003", "cannot be read"),
    ],
)
def test_sequences_moved_by_hand_are_noticed_at_the_next_window(
    connection: psycopg.Connection, damage: str, sqlstate: str, message: str
) -> None:
    before = scalar(connection, "select max(i) from shardflake.next_ids(300) i")
    connection.execute(damage)
    connection.execute("select pg_sleep(0.05)")
    refused(connection, "select shardflake.next_id()", sqlstate, message)
    connection.execute("select * from shardflake.confirm_identity()")
    assert scalar(connection, "select shardflake.next_id()") > before


@pytest.mark.parametrize(
    "objects", ["sequence shardflake._window", "function shardflake.next_id()", "function shardflake._draw()"]
)
def test_what_a_default_depends_on_cannot_be_dropped(connection: psycopg.Connection, objects: str) -> None:
    connection.execute("create table orders (id bigint default shardflake.next_id())")
    with pytest.raises(psycopg.errors.DependentObjectsStillExist) as caught:
        connection.execute(f"drop {objects}")
    assert "default value for column id of table orders" in (caught.value.diag.message_detail or "")


def test_a_read_only_transaction_is_refused(connection: psycopg.Connection) -> None:
    connection.execute("set default_transaction_read_only = on")
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction, match="read-only transaction"):
        connection.execute("select shardflake.next_id()")


def test_adding_a_column_gives_every_row_its_own_id(connection: psycopg.Connection) -> None:
    connection.execute("create table t as select n from generate_series(1, 1000) n")
    connection.execute("alter table t add column id bigint default shardflake.next_id()")
    assert scalar(connection, "select count(distinct id) from t") == 1000


def test_a_filter_over_a_parallel_scan(connection: psycopg.Connection) -> None:
    connection.execute("create table t as select n from generate_series(1, 200000) n")
    connection.execute(
        "analyze t; set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0"
    )
    assert scalar(connection, "select count(*) from t where shardflake.next_id() > 0") == 200_000
    plan = "\n".join(row[0] for row in connection.execute("explain select count(*) from t where shardflake.next_id() > 0"))
    assert "Parallel" not in plan
    assert "Parallel" in "\n".join(
        row[0] for row in connection.execute("explain select count(*) from t where n > 0")
    )  # could have


def test_a_dump_that_runs_for_hours_does_not_stop_the_generator(shard: sa.Engine) -> None:
    """pg_dump holds ACCESS SHARE on every table until it ends; raising the mark must not wait for it."""
    with psycopg.connect(dsn(shard)) as dump, psycopg.connect(dsn(shard), autocommit=True) as connection:
        connection.execute("set statement_timeout = '5s'")
        connection.execute("select shardflake.next_id()")
        dump.execute("lock table shardflake._flush in access share mode")
        mark = scalar(connection, "select last_value from shardflake._high_water")
        connection.execute("select pg_sleep(2.2)")
        connection.execute("select shardflake.next_id()")
        assert scalar(connection, "select last_value from shardflake._high_water") > mark
        assert scalar(connection, "select to_regclass('shardflake._flush_anew')") is None


def test_no_lock_is_left_after_a_call_an_error_or_a_cancel(shard: sa.Engine) -> None:
    with psycopg.connect(dsn(shard), autocommit=True) as holder, psycopg.connect(dsn(shard), autocommit=True) as connection:
        locks = "select count(*) from pg_locks where locktype = 'advisory'"
        connection.execute("begin; select shardflake.next_id()")
        assert scalar(holder, locks) == 0
        connection.execute("rollback")
        holder.execute("begin; select pg_advisory_xact_lock('shardflake._window'::regclass::oid::integer, 1936287346)")
        connection.execute("begin; savepoint a; set local statement_timeout = '50ms'")
        connection.execute("select pg_sleep(0.03)")
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("select count(shardflake.next_id()) from generate_series(1, 3000)")
        connection.execute("rollback to a")
        holder.execute("rollback")
        assert scalar(connection, locks) == 0
        assert scalar(connection, "select shardflake.next_id()") > 0
        connection.execute("commit")


def test_twenty_threads_start_at_once_on_a_fresh_shard(shard: sa.Engine) -> None:
    barrier, ids = threading.Barrier(20), []

    def draw() -> None:
        with psycopg.connect(dsn(shard), autocommit=True) as connection:
            barrier.wait()
            ids.append(scalar(connection, "select shardflake.next_id()"))

    threads = [threading.Thread(target=draw) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(ids)) == 20


def test_status_reads_and_draws_nothing(connection: psycopg.Connection) -> None:
    connection.execute("select count(shardflake.next_id()) from generate_series(1, 100000)")
    window = scalar(connection, "select last_value from shardflake._window")
    row = connection.execute("select * from shardflake.status()").fetchone()
    assert row is not None
    assert row[:5] == (5, [5], [], "shardflake 41/13/10", "confirmed")
    assert row[6] > row[5]  # the mark is ahead of the clock
    assert 100 < row[9] <= row[10] == 1024  # peak
    assert 30 < row[11] < 34.8
    assert scalar(connection, "select last_value from shardflake._window") == window
