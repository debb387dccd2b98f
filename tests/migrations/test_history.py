"""Alembic's own checks on the history in migrations/, as pytest-alembic has them."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from alembic.config import Config
from pytest_alembic.tests import test_single_head_revision, test_up_down_consistency, test_upgrade

from shardflake import install

__all__ = ["test_single_head_revision", "test_up_down_consistency", "test_upgrade"]


@pytest.fixture
def alembic_config() -> Config:
    return install.config()


@pytest.fixture
def alembic_engine(database: sa.Engine) -> sa.Engine:
    return database
