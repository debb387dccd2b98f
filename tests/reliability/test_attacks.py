"""The attacks at the sizes of continuous integration; each control must be caught. ``make torture`` runs the long forms.

With ``--pg-bin`` (PostgreSQL 15 to 17, after 18 was attacked in full) the sizes are a fifth.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.reliability import cancel, clock, crash, failover, uniqueness
from tests.reliability.attack import server_with_clock


@pytest.fixture
def size(bin_dir: Path | None) -> Callable[[int], int]:
    """How much of a full attack to run."""
    return lambda full: full if bin_dir is None else full // 5


def test_two_eight_and_thirty_two_sessions_repeat_no_id(bin_dir: Path | None, size: Callable[[int], int]) -> None:
    outcome = uniqueness.attack(bin_dir, size(10))
    assert outcome.clean, outcome
    assert outcome.ids >= size(10_000_000)


@pytest.mark.once
def test_sessions_of_instagrams_function_are_caught(bin_dir: Path | None) -> None:
    outcome = uniqueness.attack(bin_dir, 2, broken=True)
    assert outcome.duplicates > 0
    assert outcome.inversions > 0


@pytest.mark.parametrize("seed", [1, 2])
def test_crashes_repeat_no_id(bin_dir: Path | None, size: Callable[[int], int], seed: int) -> None:
    outcome = crash.attack(bin_dir, size(25), seed)
    assert outcome.clean, outcome
    assert outcome.ids > size(50_000)


@pytest.mark.once
def test_crashes_without_the_flush_are_caught(bin_dir: Path | None) -> None:
    assert crash.attack(bin_dir, 8, broken=True).duplicates > 0


def test_cancels_leave_no_lock(bin_dir: Path | None, size: Callable[[int], int]) -> None:
    outcome = cancel.attack(bin_dir, size(2_000))
    assert outcome.clean, outcome


@pytest.mark.once
def test_cancels_with_a_session_level_lock_are_caught(bin_dir: Path | None) -> None:
    assert cancel.attack(bin_dir, 2_000, broken=True).leaks > 0


def test_clock_steps_neither_repeat_nor_go_back(bin_dir: Path | None, size: Callable[[int], int]) -> None:
    outcome = clock.attack(bin_dir, size(60))
    assert outcome.clean, outcome


@pytest.mark.once
def test_clock_steps_with_instagrams_function_are_caught(bin_dir: Path | None) -> None:
    outcome = clock.attack(bin_dir, 20, broken=True)
    assert outcome.duplicates > 0
    assert outcome.inversions > 0


def test_a_step_back_of_five_seconds_costs_no_insert(bin_dir: Path | None) -> None:
    with server_with_clock(bin_dir) as (server, fake), psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("create table orders (id bigint primary key default shardflake.next_id(), n integer)")
        for offset in (0.0, -5.0, -1.0, -6.0):
            fake.set(offset)
            for number in range(200):
                connection.execute("insert into orders (n) values (%s)", (number,))
        row = connection.execute("select count(*) from orders").fetchone()
        assert row == (800,)
        fake.set(-3600.0)
        with pytest.raises(psycopg.Error, match=r"the clock is 3\d{6} ms behind the ids of shard 5") as caught:
            connection.execute("insert into orders (n) values (1)")
        assert caught.value.sqlstate == "SF005"


@pytest.mark.parametrize("seed", [1, 2])
def test_failovers_meet_no_committed_row(bin_dir: Path | None, size: Callable[[int], int], seed: int) -> None:
    outcome = failover.attack(bin_dir, size(10), seed)
    assert outcome.clean, outcome


@pytest.mark.once
def test_failovers_without_the_mark_are_caught(bin_dir: Path | None) -> None:
    outcome = failover.attack(bin_dir, 10, broken=True)
    assert outcome.duplicates + outcome.inversions > 0
