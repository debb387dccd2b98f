"""Promotion of an asynchronous standby that was behind, on a machine whose clock differs; then back again, A to B to A.

What a standby has replayed it covers: no committed row may meet a new id, nor may any id that the old primary gave out within
2 s of the last row that the standby has. Later ones never reached it in any form; they may come again if the new primary's
clock is behind, and are counted apart (see the guarantees page).
"""

from __future__ import annotations

import random
import time
from array import array
from pathlib import Path

import psycopg

from shardflake.server import LocalServer
from tests.reliability.attack import WITHOUT_TIMERS, Clock, Outcome, attacked_server, replace_function

TABLE = "create table orders (id bigint primary key default shardflake.next_id(), n integer)"
COVERED_MS = 2000
"""A mark is at least 1 s above the window that it covers, and the first window after a promotion 1 s above the mark."""
INSERT = "insert into orders (n) select generate_series(1, %s) returning id"


def attack(bin_dir: Path | None, rounds: int, seed: int = 1, *, broken: bool = False) -> Outcome:
    """Fail over again and again, each time to a standby with its receiver stopped, and a clock skewed by -2 to +2 s.

    :param broken: True runs the control, until it is caught: the generator goes by the clock alone, without the mark.
    :returns: ``duplicates`` counts new ids that stand in a replicated row or repeat one that the old primary gave out within
        2 s of it, ``reissued`` those that repeat a later one.
    """
    outcome = Outcome("failover" + (" without the mark" if broken else ""))
    chance = random.Random(seed)
    while outcome.rounds < rounds and not (broken and outcome.duplicates + outcome.inversions):
        with attacked_server(bin_dir, **WITHOUT_TIMERS) as primary:
            with psycopg.connect(primary.url(), autocommit=True) as connection:
                connection.execute(TABLE)
                if broken:
                    without_mark(connection)
                connection.execute(INSERT, (1000,))
            # behind in the control: a clock that is ahead covers for the mark
            _fail_over(primary, chance, -2.0 if broken else chance.uniform(-2.0, 2.0), outcome)
        outcome.rounds += 1
    return outcome


def _fail_over(primary: LocalServer, chance: random.Random, skew: float, outcome: Outcome) -> None:
    standby = LocalServer(primary.bin_dir)
    try:
        clock = Clock(standby)
        copy_from(primary, standby)
        standby.start()
        with psycopg.connect(primary.url(), autocommit=True) as old, psycopg.connect(standby.url(), autocommit=True) as new:
            replicated = [row[0] for row in old.execute(INSERT, (chance.randint(1, 5000),))]
            wait_for_replay(old, new)
            new.execute("alter system set primary_conninfo = ''")
            new.execute("select pg_reload_conf()")
            while new.execute("select count(*) from pg_stat_wal_receiver").fetchone() != (0,):
                time.sleep(0.02)
            lost: set[int] = set()
            deadline = time.monotonic() + chance.uniform(0, 5)
            while time.monotonic() < deadline:
                lost.update(row[0] for row in old.execute(INSERT, (chance.randint(1, 200),)))
            primary.stop("immediate")
            clock.set(skew)
            new.execute("select pg_promote()")
            fresh = array("q", (row[0] for row in new.execute("select shardflake.next_id() from generate_series(1, 20000)")))
            outcome.ids += len(fresh) + len(replicated) + len(lost)
            committed = {row[0] for row in new.execute("select id from orders")}
            outcome.duplicates += len(committed.intersection(fresh)) + len(fresh) - len(set(fresh))
            outcome.inversions += sum(value <= max(committed) for value in fresh)
            _count_lost(lost, fresh, max(committed) >> 23, outcome)
    finally:
        standby.remove()


def _count_lost(lost: set[int], fresh: array[int], replicated_tick: int, outcome: Outcome) -> None:
    """Count the ids that came again although the survivor never heard of them: none may where the mark reaches."""
    again = lost.intersection(fresh)
    covered = sum(value >> 23 <= replicated_tick + COVERED_MS for value in again)
    outcome.duplicates += covered
    outcome.reissued += len(again) - covered
    if lost:
        margin = (min(fresh) >> 23) - (max(lost) >> 23)
        outcome.margin_ms = margin if outcome.margin_ms is None else min(margin, outcome.margin_ms)


def copy_from(primary: LocalServer, standby: LocalServer) -> None:
    """Make a standby by a base backup; it listens on its own port."""
    arguments = ("-D", str(standby.data), "-d", primary.url(), "-R", "-X", "stream", "--checkpoint=fast", "--no-sync")
    standby.run("pg_basebackup", *arguments)
    with (standby.data / "postgresql.auto.conf").open("a") as file:
        file.write(f"port = {standby.port}\n")


def wait_for_replay(primary: psycopg.Connection, standby: psycopg.Connection) -> None:
    row = primary.execute("select pg_current_wal_flush_lsn()").fetchone()
    assert row is not None
    for _ in range(500):
        if standby.execute("select pg_last_wal_replay_lsn() >= %s", row).fetchone() == (True,):
            return
        time.sleep(0.02)
    raise AssertionError("the standby does not catch up")


def without_mark(connection: psycopg.Connection) -> None:
    replace_function(
        connection,
        "_open_window(integer)",
        ("v_first := greatest(v_first, v_mark + 1) + shardflake._ticks(1000);", "null;"),
    )
