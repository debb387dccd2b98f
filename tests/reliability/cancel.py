"""One to three cancels at a time, racing with the lock, the window and the flush: no lock stays, no id comes twice.

The control takes a session-level lock and gives it back by hand: a cancel that arrives in between leaves it behind.
"""

from __future__ import annotations

import random
import threading
import time
from array import array
from pathlib import Path

import psycopg

from tests.reliability.attack import DRAW, Outcome, Received, Sessions, attacked_server, with_session_lock

SESSIONS = 4
QUERIES = (
    "select array_agg(shardflake.next_id()) from generate_series(1, 3000)",
    "select array[shardflake.next_id()]",
    "select array_agg(i) from shardflake.next_ids((shardflake._batch_limit() / 5)::integer) i",
    "select array_agg(shardflake._open_window(1)) from generate_series(1, 100)",
)


def attack(bin_dir: Path | None, rounds: int, seed: int = 1, *, layout: str = "shardflake", broken: bool = False) -> Outcome:
    """Cancel statements of busy sessions, one to three times each.

    :param rounds: how many times a session is cancelled.
    :param broken: True runs the control, with a session-level lock, until it has leaked one.
    """
    outcome = Outcome("cancel" + (" with a session-level lock" if broken else ""))
    received = Received()
    chance = random.Random(seed)
    with attacked_server(bin_dir, layout) as server:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(DRAW)
            if broken:
                with_session_lock(connection)
        while outcome.rounds < rounds and not (broken and outcome.leaks):
            _storm(server.url(), min(200, rounds - outcome.rounds), received, chance, outcome, patience=5 if broken else 60)
    outcome.ids, outcome.duplicates = received.ids, received.duplicates
    return outcome


def _storm(url: str, cancels: int, received: Received, chance: random.Random, outcome: Outcome, *, patience: float) -> None:
    """Cancel for a while, let the sessions come to rest within so many seconds, and count the locks that they hold then."""
    at_rest: set[int] = set()
    resting = threading.Event()

    def work(connection: psycopg.Connection) -> None:
        if resting.is_set():
            at_rest.add(threading.get_ident())
            time.sleep(0.05)
            return
        row = connection.execute(random.choice(QUERIES)).fetchone()
        assert row is not None
        received.add(array("q", (value for value in row[0])))

    sessions = Sessions(url, [work] * SESSIONS, outcome)
    with psycopg.connect(url, autocommit=True) as admin:
        while len(sessions.pids) < SESSIONS:
            time.sleep(0.01)
        for _ in range(cancels):
            time.sleep(chance.uniform(0, 0.004))
            pid = chance.choice(sessions.pids)
            for _ in range(chance.randint(1, 3)):
                admin.execute("select pg_cancel_backend(%s)", (pid,))
            outcome.rounds += 1
        resting.set()
        deadline = time.monotonic() + patience
        while len(at_rest) < SESSIONS and time.monotonic() < deadline:
            time.sleep(0.01)
        row = admin.execute("select count(*) from pg_locks where locktype = 'advisory' and granted").fetchone()
        outcome.leaks += row[0] if row else 0
        outcome.leaks += not _answers_within_a_second(admin)
        for pid in sessions.pids:
            admin.execute("select pg_terminate_backend(%s)", (pid,))
    sessions.stop()


def _answers_within_a_second(admin: psycopg.Connection) -> bool:
    try:
        with admin.transaction():
            admin.execute("set local statement_timeout = '1s'")
            admin.execute("select shardflake._open_window(1)")
    except psycopg.errors.QueryCanceled:
        return False
    return True
