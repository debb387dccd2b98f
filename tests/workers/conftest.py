"""Shards that lease worker ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from shardflake.workers import WorkerGenerator
from tests.orm.conftest import driver_url

MakeGenerator = Callable[..., WorkerGenerator]


def reserve(engine: sa.Engine, first: int = 7000, last: int = 7007, ttl: str = "10 s") -> None:
    """Reserve worker ids; a short lease makes a test short."""
    with engine.begin() as connection:
        call = "select shardflake.reserve_worker_ids(:first, :last, cast(:ttl as interval))"
        connection.execute(sa.text(call), {"first": first, "last": last, "ttl": ttl})


@pytest.fixture
def leasing(shard: sa.Engine) -> sa.Engine:
    """Shard 5, which leases workers 7000 to 7007 for 2 s at a time."""
    reserve(shard, ttl="2 s")
    return shard


@pytest.fixture
def make_generator(leasing: sa.Engine) -> Iterator[MakeGenerator]:
    """Makes generators, and closes them."""
    made: list[WorkerGenerator] = []
    engine = sa.create_engine(driver_url(leasing, "psycopg"), poolclass=sa.NullPool)

    def make(**options: object) -> WorkerGenerator:
        generator = WorkerGenerator(engine, **{"margin": 0.3, "renew_every": 0.5, "timeout": 8, **options})  # type: ignore[arg-type]
        made.append(generator)
        return generator

    yield make
    for generator in made:
        generator.close()
