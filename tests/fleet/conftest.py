"""Fleets for the tests: databases of one server, and the file that lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from shardflake import install
from shardflake.connect import make_engine
from shardflake.fleet.file import Shard
from shardflake.fleet.logical import create
from shardflake.server import LocalServer
from tests.cli.conftest import Run, run
from tests.conftest import dsn
from tests.sql.test_functions import scalar

__all__ = ["run"]

TABLES = """
create schema shard_77;
create table shard_77.customers (id bigint primary key default shardflake.next_id(77), name text);
create table shard_77.orders (id bigint primary key default shardflake.next_id(77),
  customer_id bigint references shard_77.customers, doubled integer generated always as (2 * n) stored, n integer);
"""


class TestFleet:
    """Databases without the generator, and their shards.toml: "s0" is to be shard 0, and so on."""

    __test__ = False

    def __init__(self, engines: list[sa.Engine], path: Path) -> None:
        self.engines = engines
        self.path = path
        self.write()

    def write(self, first: str = "", **changes: str) -> None:
        """Write the file; ``s3="..."`` gives a shard lines of its own in the place of its URL and id."""
        shards = []
        for number, engine in enumerate(self.engines):
            body = changes.get(f"s{number}", f"url = {dsn(engine)!r}\nshard_id = {number}")
            shards.append(f'[[shard]]\nname = "s{number}"\n{body}\n')
        self.path.write_text(first + "\n" + "\n".join(shards))

    def execute(self, number: int, statement: str) -> None:
        """Run a statement in a shard."""
        with self.engines[number].begin() as connection:
            connection.execute(sa.text(statement))

    def scalar(self, number: int, query: str) -> object:
        """Return what a query finds in a shard."""
        with self.engines[number].begin() as connection:
            return connection.scalar(sa.text(query))


@pytest.fixture
def make_fleet(make_database: Callable[..., sa.Engine], tmp_path: Path) -> Callable[..., TestFleet]:
    """Makes fleets of as many databases as asked for, empty ones or from a template."""

    def make(count: int, template: str = "template0") -> TestFleet:
        return TestFleet([make_database(template) for _ in range(count)], tmp_path / "shards.toml")

    return make


@pytest.fixture
def run_fleet(run: Run, tmp_path: Path) -> Run:
    """Runs ``shardflake fleet`` with the fleet's file in the environment."""

    def run_there(*words: str, code: int = 0, **options: object) -> object:
        return run("fleet", *words, code=code, env={"SHARDFLAKE_FLEET": str(tmp_path / "shards.toml")})

    return run_there  # type: ignore[return-value]


@pytest.fixture(scope="session")
def servers(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """URLs of two shards on two servers."""
    settings = {"fsync": "off", "shared_buffers": "32MB"}
    with (
        LocalServer(request.config.getoption("--pg-bin"), settings) as first,
        LocalServer(request.config.getoption("--pg-bin"), settings) as second,
    ):
        for number, server in enumerate((first, second), 1):
            install.upgrade(make_engine(server.url()), number)
        yield first.url(), second.url()


@pytest.fixture
def pair(servers: tuple[str, str]) -> Iterator[tuple[Shard, Shard]]:
    """Two shards on two servers, the first of which holds the logical shard 77 and its tables."""
    source, target = (Shard(name, url) for name, url in zip(("source", "target"), servers, strict=True))
    for shard in (source, target):
        with psycopg.connect(shard.conninfo, autocommit=True) as connection:
            connection.execute(TABLES)
    create(source, [77])
    yield source, target
    for number, shard in enumerate((source, target), 1):
        with psycopg.connect(shard.conninfo, autocommit=True) as connection:
            for name in ("shard_77", "shard_77_moving", "shard_77_moved"):
                connection.execute(f"drop schema if exists {name} cascade")
            connection.execute("select shardflake.assign_shard(%s, logical_shards => '{}')", (number,))


def owned(shard: Shard) -> list[int]:
    """Return which shard ids a database issues."""
    with psycopg.connect(shard.conninfo) as connection:
        return list(scalar(connection, "select logical_shards from shardflake.status()"))
