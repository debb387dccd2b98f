"""Fleets for the tests: databases of one server, and the file that lists them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.cli.conftest import Run, run
from tests.conftest import dsn

__all__ = ["run"]


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
