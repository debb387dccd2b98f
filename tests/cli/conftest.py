"""Run the command line in this process, as a user would who has the database's URL in the environment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql
from psycopg.conninfo import make_conninfo
from typer.testing import CliRunner, Result

from shardflake.cli import app
from tests.conftest import dsn


class Run(Protocol):
    """Runs ``shardflake`` with some words."""

    def __call__(self, *words: str, code: int = 0, env: Mapping[str, str | None] | None = None) -> Result:
        """Run it and check its exit code."""


@pytest.fixture
def run() -> Run:
    """Runs ``shardflake`` without a database in the environment."""

    def run(*words: str, code: int = 0, env: Mapping[str, str | None] | None = None) -> Result:
        runner = CliRunner(env={"SHARDFLAKE_URL": None, "COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1", **(env or {})})
        result = runner.invoke(app, words)
        assert result.exit_code == code, f"exit code {result.exit_code}: {result.output}{result.exception!r}"
        return result

    return run


@pytest.fixture
def run_on(run: Run) -> Callable[[sa.Engine], Run]:
    """Makes a ``run`` that finds a database in the environment."""

    def bind(engine: sa.Engine) -> Run:
        url = dsn(engine)

        def run_there(*words: str, code: int = 0, env: Mapping[str, str | None] | None = None) -> Result:
            return run(*words, code=code, env={"SHARDFLAKE_URL": url, **(env or {})})

        return run_there

    return bind


@pytest.fixture
def make_role(shard: sa.Engine) -> Iterator[Callable[[str], str]]:
    """Makes roles that may log in and no more; gives the libpq string of one in the database ``shard``."""
    names: list[sql.Identifier] = []

    def make(name: str) -> str:
        names.append(sql.Identifier(name))
        with psycopg.connect(dsn(shard), autocommit=True) as connection:
            connection.execute(sql.SQL("create role {} login password 'ro:le@/pass'").format(names[-1]))
        return make_conninfo(dsn(shard), user=name, password="ro:le@/pass")

    yield make
    with psycopg.connect(dsn(shard), autocommit=True) as connection:
        for name in names:
            connection.execute(sql.SQL("drop owned by {}").format(name))
            connection.execute(sql.SQL("drop role {}").format(name))
