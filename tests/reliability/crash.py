"""Crashes under load, with the clock set back before the restart; every id that a client ever received must be unique.

The mark is what carries over a crash. The control raises it without waiting until it is on disk: then a crash forgets it, and a
clock that went back meanwhile repeats ids that were handed out in transactions that never committed.
"""

from __future__ import annotations

import os
import random
import signal
import time
from array import array
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psycopg

from tests.reliability.attack import Outcome, Received, Sessions, server_with_clock, without_flush

Work = Callable[[psycopg.Connection], None]
TABLE = "create table if not exists crash (id bigint default shardflake.next_id(), n integer)"


def attack(bin_dir: Path | None, rounds: int, seed: int = 1, *, layout: str = "shardflake", broken: bool = False) -> Outcome:
    """Crash a server again and again.

    :param rounds: crashes: immediate stops, SIGKILL of a backend and of the postmaster, by turns.
    :param broken: True runs the control, until it is caught: no flush, and sessions that never commit, for as long as it takes
        to lose two marks.
    """
    outcome = Outcome("crash" + (" without the flush" if broken else ""))
    received = Received()
    chance = random.Random(seed)
    with server_with_clock(bin_dir, layout) as (server, clock):
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(TABLE)
            if broken:
                without_flush(connection)
        while outcome.rounds < rounds and not (broken and received.duplicates):
            work = [_open_transaction(received)] * 4 if broken else _mixed(received, chance.random())
            sessions = Sessions(server.url(), work, outcome)
            time.sleep(6.0 if broken else chance.uniform(0.3, 1.5))
            _crash(server, ("immediate", "backend", "postmaster")[0 if broken else outcome.rounds % 3], sessions, chance)
            sessions.stop()
            clock.step(-chance.uniform(5.0, 8.0) if broken else -chance.uniform(0.0, 10.0) * chance.choice([0, 0.1, 1]))
            server.start()
            outcome.rounds += 1
        outcome.leaks = _advisory_locks(server.url())
    outcome.ids, outcome.duplicates = received.ids, received.duplicates
    return outcome


def _crash(server, how: str, sessions: Sessions, chance: random.Random) -> None:  # type: ignore[no-untyped-def]
    postmaster = server.postmaster_pid
    if how == "backend":
        with suppress(ProcessLookupError, IndexError):
            os.kill(chance.choice(sessions.pids), signal.SIGKILL)
        time.sleep(0.3)
        server.stop("immediate")
    elif how == "postmaster":
        os.kill(postmaster, signal.SIGKILL)
        _wait_until_gone(server.data, postmaster)
    else:
        server.stop("immediate")


def _wait_until_gone(data: Path, postmaster: int) -> None:
    """Wait until the backends have noticed that their postmaster is dead: a new one refuses to start before."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if not any(_belongs_to(pid, data) for pid in os.listdir("/proc") if pid.isdigit()):
            (data / "postmaster.pid").unlink(missing_ok=True)
            return
        time.sleep(0.05)
    raise AssertionError(f"backends of postmaster {postmaster} are still running")


def _belongs_to(pid: str, data: Path) -> bool:
    with suppress(OSError):
        return os.readlink(f"/proc/{pid}/cwd") == str(data)
    return False


def _advisory_locks(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("select count(*) from pg_locks where locktype = 'advisory'").fetchone()
        return row[0] if row else 0


def _mixed(received: Received, seed: float) -> list[Work]:
    chance = random.Random(seed)

    def insert(connection: psycopg.Connection) -> None:
        query = "insert into crash (n) select generate_series(1, %s) returning id"
        received.add(array("q", (row[0] for row in connection.execute(query, (chance.randint(1, 300),)))))

    def burst(connection: psycopg.Connection) -> None:
        query = "select shardflake.next_id() from generate_series(1, %s)"
        received.add(array("q", (row[0] for row in connection.execute(query, (chance.randint(1, 3000),)))))

    def batch(connection: psycopg.Connection) -> None:
        query = "select shardflake.next_ids(least(%s, shardflake._batch_limit())::integer)"
        received.add(array("q", (row[0] for row in connection.execute(query, (chance.randint(1, 5000),)))))
        time.sleep(0.02)

    return [insert, burst, batch, _single(received), _open_transaction(received)]


def _single(received: Received) -> Work:
    def single(connection: psycopg.Connection) -> None:
        received.add(array("q", (row[0] for row in connection.execute("select shardflake.next_id()"))))
        time.sleep(0.001)

    return single


def _open_transaction(received: Received) -> Work:
    """Draw for long in a transaction that is never committed: whoever raises the mark in it does not write its WAL."""

    def draw(connection: psycopg.Connection) -> None:
        with connection.transaction(force_rollback=True):
            for _ in range(10_000):
                received.add(array("q", (row[0] for row in connection.execute("select shardflake.next_id()"))))
                time.sleep(0.001)

    return draw
