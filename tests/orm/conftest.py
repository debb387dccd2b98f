"""Engines of every driver on a shard, and what an ORM user does with them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from tests.conftest import dsn

SQLALCHEMY_21 = hasattr(sa.func.now(), "monotonic")


@pytest.fixture(params=["psycopg", "asyncpg"])
async def async_engine(request: pytest.FixtureRequest, shard: sa.Engine) -> AsyncIterator[AsyncEngine]:
    """An asynchronous engine on shard 5, of either driver."""
    engine = create_async_engine(driver_url(shard, request.param))
    yield engine
    await engine.dispose()


def driver_url(engine: sa.Engine, driver: str) -> sa.URL:
    """Return a SQLAlchemy URL of the database behind an engine of the fixtures, for a driver."""
    options = conninfo_to_dict(dsn(engine))
    return sa.URL.create(
        f"postgresql+{driver}",
        username=str(options["user"]),
        password=str(options["password"]) if "password" in options else None,
        host=str(options["host"]),
        port=int(str(options["port"])),
        database=str(options["dbname"]),
    )


@pytest.fixture
def inserts(shard: sa.Engine) -> Iterator[list[str]]:
    """The INSERT statements that shard 5 is sent, as they come."""
    with listening(shard) as statements:
        yield statements


@contextmanager
def listening(engine: sa.Engine) -> Iterator[list[str]]:
    """Collect the INSERT statements of an engine meanwhile."""
    statements: list[str] = []

    def collect(connection: sa.Connection, cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("INSERT"):
            statements.append(statement)

    event.listen(engine, "before_cursor_execute", collect)
    try:
        yield statements
    finally:
        event.remove(engine, "before_cursor_execute", collect)
