"""The attacks on pools and workers, in short forms; ``make torture`` runs the long ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reliability import leases


def test_processes_that_are_stopped_killed_forked_and_cut_off_share_no_id(bin_dir: Path | None) -> None:
    outcome = leases.attack(bin_dir, 30)
    assert outcome.clean, outcome
    assert outcome.ids > 20_000


@pytest.mark.once
def test_processes_that_keep_their_lease_are_caught(bin_dir: Path | None) -> None:
    """Both holders of one worker have to draw in the same millisecond, so that a single short try may miss it."""
    assert any(leases.attack(bin_dir, 30, seed, broken=True).duplicates for seed in range(1, 5))
