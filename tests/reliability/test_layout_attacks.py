"""The attacks on two other layouts: 22 bits of window, and ticks of 10 ms with the counter above the shard id."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reliability import cancel, clock, crash, uniqueness

pytestmark = pytest.mark.parametrize("layout", ["twitter", "sonyflake"])


def test_sessions_repeat_no_id(bin_dir: Path | None, layout: str) -> None:
    outcome = uniqueness.attack(bin_dir, 1, layout=layout)
    assert outcome.clean, outcome
    assert outcome.ids > 100_000


def test_crashes_repeat_no_id(bin_dir: Path | None, layout: str) -> None:
    outcome = crash.attack(bin_dir, 3, layout=layout)
    assert outcome.clean, outcome
    assert outcome.ids > 1_000


@pytest.mark.once
def test_crashes_without_the_flush_are_caught(bin_dir: Path | None, layout: str) -> None:
    assert crash.attack(bin_dir, 8, layout=layout, broken=True).duplicates > 0


def test_cancels_leave_no_lock(bin_dir: Path | None, layout: str) -> None:
    outcome = cancel.attack(bin_dir, 200, layout=layout)
    assert outcome.clean, outcome


@pytest.mark.once
def test_cancels_with_a_session_level_lock_are_caught(bin_dir: Path | None, layout: str) -> None:
    assert cancel.attack(bin_dir, 2_000, layout=layout, broken=True).leaks > 0


def test_clock_steps_neither_repeat_nor_go_back(bin_dir: Path | None, layout: str) -> None:
    outcome = clock.attack(bin_dir, 8, layout=layout)
    assert outcome.clean, outcome
