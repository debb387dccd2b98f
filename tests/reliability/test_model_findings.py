"""What the model found in earlier texts of the generator, on real servers: each attack, and the earlier rule as its control."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest
import sqlalchemy as sa

from shardflake.connect import make_engine
from shardflake.install import upgrade
from shardflake.server import LocalServer
from tests.conftest import dsn
from tests.reliability.attack import DRAW, replace_function
from tests.sql.test_functions import scalar

NOW = 60_000_000_000
HOLD = "select pg_advisory_lock('shardflake._window'::regclass::oid::integer, 1936287346)"
RELEASE = "select pg_advisory_unlock('shardflake._window'::regclass::oid::integer, 1936287346)"
PAUSE = """
create function public.pause() returns void language plpgsql as $$
begin
  if current_setting('test.pause', true) = 'on' then perform pg_sleep(1); end if;
end $$
"""

Break = Callable[[psycopg.Connection], None]


def nothing(connection: psycopg.Connection) -> None:
    """Leave the generator as it is."""


def trust_every_mark(connection: psycopg.Connection) -> None:
    """Take the mark for durable whoever raised it."""
    replace_function(connection, "_open_window(integer)", (" or v_mark > v_opened + shardflake._ticks(3000)", ""))


def look_at_the_incarnation_late(connection: psycopg.Connection) -> None:
    """Look at the incarnation after the draw beside a window that is being opened."""
    look = "pg_sequence_last_value('shardflake._incarnation') = v_boot"
    accept = (
        "if v_draw & ((1::bigint << shardflake._window_bits()) - 1) < 1::bigint << shardflake._counter_bits()\n           and"
    )
    replace_function(
        connection,
        "_open_window(integer)",
        (f"if p_count = 1 and {look}", "if p_count = 1"),
        (accept, f"if {look} and{accept[2:]}"),
    )


def allow_no_jump(connection: psycopg.Connection) -> None:
    """Hold the first window after a restart to the limit that the second it is opened ahead is longer than."""
    replace_function(
        connection, "_open_window(integer)", (" + (case when v_same_boot then 0 else shardflake._ticks(1000) end)", "")
    )


def set_clock(connection: psycopg.Connection, tick: int) -> None:
    """Stop the clock of the slow path; the fast path's goes on, and finds no window near it."""
    connection.execute(
        f"create or replace function shardflake._tick() returns bigint language sql volatile parallel safe return {tick}"
    )


def last_value(connection: psycopg.Connection, name: str) -> int:
    return int(scalar(connection, f"select coalesce(pg_sequence_last_value('shardflake.{name}'), 0)"))


def reconnected(server: LocalServer) -> psycopg.Connection:
    """Connect as soon as the server has recovered."""
    while True:
        try:
            return psycopg.connect(server.url(), autocommit=True)
        except psycopg.OperationalError:
            time.sleep(0.05)


@pytest.fixture
def own_server(request: pytest.FixtureRequest) -> Iterator[LocalServer]:
    """A server with shard 5 to crash, whose WAL is not written before someone asks for it."""
    with LocalServer(request.config.getoption("--pg-bin"), {"wal_writer_delay": "10s", "bgwriter_delay": "10s"}) as server:
        upgrade(make_engine(server.url()), shard_id=5)
        yield server


@pytest.mark.parametrize(("broken", "duplicates"), [(nothing, 0), (trust_every_mark, 1)])
def test_a_mark_that_a_cancelled_call_left_in_memory_is_flushed_before_it_is_used(
    own_server: LocalServer, broken: Break, duplicates: int
) -> None:
    """A is cancelled between raising the mark and flushing it, B opens a window below that mark, the server crashes."""
    with psycopg.connect(own_server.url(), autocommit=True) as a, psycopg.connect(own_server.url(), autocommit=True) as b:
        broken(a)
        a.execute(PAUSE)
        replace_function(a, "_flush_wal()", ("begin\n", "begin\n  perform public.pause();\n"))
        set_clock(a, NOW)
        a.execute(DRAW)
        set_clock(a, NOW + 60_000)  # idle for a minute: far above the mark
        a.execute("set test.pause = 'on'; set statement_timeout = 200")
        with pytest.raises(psycopg.errors.QueryCanceled):
            a.execute(DRAW)
        received = [scalar(b, DRAW) for _ in range(3)]
        own_server.stop("immediate")
    own_server.start()
    with psycopg.connect(own_server.url(), autocommit=True) as c:
        set_clock(c, NOW + 59_000)  # and was set back by a second
        received += [scalar(c, DRAW) for _ in range(3)]
    assert (len(received) > len(set(received))) == bool(duplicates), received


@pytest.mark.parametrize(("broken", "duplicates"), [(nothing, 0), (look_at_the_incarnation_late, 1)])
def test_a_draw_from_an_old_state_is_not_taken_for_one_of_the_window_that_replaced_it(
    shard: sa.Engine, broken: Break, duplicates: int
) -> None:
    """A failover brings back the unlogged sequences of a moment ago; B draws from them while A opens the next window."""
    with psycopg.connect(dsn(shard), autocommit=True) as a, psycopg.connect(dsn(shard), autocommit=True) as b:
        broken(a)
        a.execute(PAUSE)
        replace_function(
            a,
            "_open_window(integer)",
            (
                "        v_now := shardflake._tick();\n",
                "        v_now := shardflake._tick();\n        perform public.pause();\n",
            ),
        )
        set_clock(a, NOW)
        received = [scalar(a, DRAW) for _ in range(6)]
        set_clock(a, NOW - 200)  # the platform's other machine is a little behind
        a.execute(
            f"select setval('shardflake._window', {NOW}::bigint << 23), setval('shardflake._opened', {NOW}), "
            "setval('shardflake._incarnation', 1)"
        )
        a.execute(HOLD)
        b.execute("set test.pause = 'on'")
        thread = threading.Thread(target=lambda: received.append(scalar(b, DRAW)))
        thread.start()
        while not scalar(
            a,
            "select count(*) from pg_stat_activity where pid = %s and wait_event in ('PgSleep', 'advisory')",
            b.info.backend_pid,
        ):
            pass
        received.append(scalar(a, DRAW))
        a.execute(RELEASE)
        thread.join()
    assert (len(received) > len(set(received))) == bool(duplicates), received


@pytest.mark.parametrize(("broken", "refused"), [(nothing, False), (allow_no_jump, True)])
def test_a_shard_that_allows_no_lead_answers_again_after_a_restart(
    own_server: LocalServer, broken: Break, refused: bool
) -> None:
    """The first window after a restart opens a second ahead of the clock: more than max_lead = 0 allows, for ever."""
    with psycopg.connect(own_server.url(), autocommit=True) as connection:
        broken(connection)
        connection.execute("select shardflake.assign_shard(5, max_lead => '0')")
        set_clock(connection, NOW)
        connection.execute(DRAW)
        set_clock(connection, NOW + 60_000)
    own_server.stop()
    own_server.start()
    with psycopg.connect(own_server.url(), autocommit=True) as connection:
        if refused:
            with pytest.raises(psycopg.DatabaseError) as caught:
                connection.execute(DRAW)
            assert caught.value.sqlstate == "SF005"
        else:
            connection.execute(DRAW)


@pytest.mark.parametrize(
    "after", ["_incarnation', 0)", "_high_water', v_mark)", "_flush_wal()", "_window', 0)", "_opened', 0)"]
)
def test_a_cancelled_confirm_leaves_a_generator_that_answers(shard: sa.Engine, after: str) -> None:
    with psycopg.connect(dsn(shard), autocommit=True) as connection:
        first = scalar(connection, DRAW)
        connection.execute(PAUSE)
        statement = f"  perform shardflake.{after};" if after.startswith("_flush") else f"  perform setval('shardflake.{after};"
        replace_function(connection, "confirm_identity()", (statement, f"{statement} perform public.pause();"))
        connection.execute("set test.pause = 'on'; set statement_timeout = 200")
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("select shardflake.confirm_identity()")
        connection.execute("reset statement_timeout")
        assert scalar(connection, DRAW) > first


def test_a_crash_that_brings_back_an_altered_incarnation_is_noticed(own_server: LocalServer) -> None:
    """ALTER SEQUENCE makes the present value the one after a crash; a crash that the postmaster survives is no new start."""
    url = own_server.url()
    with psycopg.connect(url, autocommit=True) as connection, psycopg.connect(url, autocommit=True) as bystander:
        connection.execute(DRAW)
        connection.execute("alter sequence shardflake._incarnation minvalue 0 no cycle increment 1")
        own_server.run("pg_ctl", "kill", "KILL", str(connection.info.backend_pid))
        with pytest.raises(psycopg.OperationalError):  # until the postmaster has seen it, and ends every session
            bystander.execute("select pg_sleep(60)")
    with reconnected(own_server) as connection:
        assert last_value(connection, "_incarnation") > 0
        assert last_value(connection, "_window") == 0
        with pytest.raises(psycopg.DatabaseError) as caught:
            connection.execute(DRAW)
        assert caught.value.sqlstate == "SF002"
        connection.execute("select shardflake.confirm_identity()")
        connection.execute(DRAW)
