"""Look at one shard: everything that :mod:`shardflake.fleet.check` compares, read in one connection. Draws no id."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import resources

import psycopg
import sqlalchemy as sa
from psycopg import sql
from psycopg.rows import dict_row

from shardflake import assets, install
from shardflake.connect import require_version, translate_errors
from shardflake.errors import ConnectionFailedError, InstallationError
from shardflake.fleet.file import Shard

_FOUND = """
select d.oid, d.datname, pg_catalog.host(pg_catalog.inet_server_addr()), pg_catalog.inet_server_port(),
       pg_catalog.has_function_privilege('pg_control_system()', 'execute'),
       pg_catalog.to_regproc('shardflake.status') is not null,
       pg_catalog.has_table_privilege(pg_catalog.to_regclass('shardflake._revision'), 'select')
  from pg_catalog.pg_database d where d.datname = pg_catalog.current_database()
"""


@dataclass(frozen=True, slots=True)
class Database:
    """Which database a shard is.

    :param system_identifier: of the cluster; None where the role may not ask.
    """

    system_identifier: int | None
    oid: int
    name: str
    host: str | None
    port: int | None


@dataclass(frozen=True, slots=True)
class Clock:
    """How a server's clock compares with this machine's, seconds: its lead lies between the two, by the round trip."""

    earliest: float
    latest: float


@dataclass(frozen=True, slots=True)
class Column:
    """A column with something wrong about it."""

    kind: str
    table: str
    column: str
    detail: str


@dataclass(frozen=True, slots=True)
class Probe:
    """What is needed before a shard is touched.

    :param revision: installed one; None if there is none, or the role may not read it.
    """

    database: Database
    installed: bool
    revision: str | None
    shard_id: int | None
    logical_shards: tuple[int, ...]
    backfill_shards: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Observation:
    """What a shard says of itself.

    :param status: None if the generator is not installed.
    :param drift: unified diff of the installed functions from the release.
    """

    database: Database
    clock: Clock
    status: install.Status | None
    drift: str
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    """What the first query says.

    :param readable: whether the role may read the revision.
    """

    database: Database
    installed: bool
    readable: bool


def probe(shard: Shard) -> Probe:
    """Return which database a shard is and what is installed in it."""
    with _opened(shard) as (connection, found):
        if not found.installed:
            return Probe(found.database, False, None, None, ())
        query = "select shard_id, logical_shards, backfill_shards from shardflake.status()"
        shard_id, logical, backfill = connection.execute(query).fetchone() or (None, (), ())
        return Probe(found.database, True, _revision(connection, found), shard_id, tuple(logical), tuple(backfill))


def observe(shard: Shard) -> Observation:
    """Return what a shard says of itself."""
    with _opened(shard) as (connection, found):
        clock = _clock(connection)
        if not found.installed:
            return Observation(found.database, clock, None, "", ())
        state = _status(connection, found)
        drift = install.drift(_catalog(connection)) if state.revision == install.head() else ""
        return Observation(found.database, clock, state, drift, _columns(connection))


def status(shard: Shard) -> install.Status:
    """Return what ``shardflake.status()`` says of a shard.

    :raises InstallationError: if it is not installed there.
    """
    with _opened(shard) as (connection, found):
        if not found.installed:
            raise InstallationError("shardflake is not installed in this database; run: shardflake fleet upgrade")
        return _status(connection, found)


@contextmanager
def one_connection(shard: Shard) -> Iterator[sa.Engine]:
    """Give an engine that logs in once and uses that connection again, and close it."""
    engine = sa.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(shard.conninfo), poolclass=sa.StaticPool)
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def _opened(shard: Shard) -> Iterator[tuple[psycopg.Connection, _Found]]:
    """Give a transaction in a shard, and what is found there. The driver alone: an engine asks more than we do.

    :raises UnsupportedServerError: below PostgreSQL 15.
    """
    with translate_errors(), psycopg.connect(shard.conninfo) as connection:
        require_version(connection.info.server_version)
        row = connection.execute(_FOUND).fetchone()
        if row is None:
            raise ConnectionFailedError("the server does not know the database of the session")
        oid, name, host, port, may_ask, installed, readable = row
        row = connection.execute("select system_identifier from pg_control_system()").fetchone() if may_ask else None
        yield connection, _Found(Database(row[0] if row else None, oid, name, host, port), installed, bool(readable))


def _revision(connection: psycopg.Connection, found: _Found) -> str | None:
    row = connection.execute("select version_num from shardflake._revision").fetchone() if found.readable else None
    return row[0] if row else None


def _status(connection: psycopg.Connection, found: _Found) -> install.Status:
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute("select * from shardflake.status()").fetchone()
    return install.status_of(row or {}, _revision(connection, found))


def _catalog(connection: psycopg.Connection) -> str:
    """Return what the schema contains, as :func:`shardflake.install.catalog` does."""
    with connection.transaction():
        connection.execute("set local search_path = pg_catalog")
        text = install.catalog_text(connection.execute(assets.read("catalog.sql").encode()))
        raise psycopg.Rollback()
    return text


def _clock(connection: psycopg.Connection) -> Clock:
    """Compare the clocks, three times; the shortest round trip tells most."""
    best = Clock(float("-inf"), float("inf"))
    for _ in range(3):
        before = time.time()
        row = connection.execute("select date_part('epoch', clock_timestamp())").fetchone()
        after = time.time()
        if row is not None and after - before < best.latest - best.earliest:
            best = Clock(row[0] - after, row[0] - before)
    return best


def _columns(connection: psycopg.Connection) -> tuple[Column, ...]:
    """Return columns that hold or should hold ids and have something wrong about them."""
    queries = [query.encode() for query in _queries()]
    wrong = [Column(*row) for row in connection.execute(queries[0])]
    for table, column in connection.execute(queries[1]).fetchall():
        largest = sql.SQL("select max({}) from {}").format(sql.Identifier(column), sql.Identifier(*table))
        row = connection.execute(largest).fetchone()
        if row is not None and row[0] is not None:
            is_id = connection.execute(queries[2], {"id": row[0]}).fetchone()
            if is_id is not None and is_id[0]:
                wrong.append(Column("no default", ".".join(table), column, f"its largest value is the id {row[0]}"))
    return tuple(wrong)


@cache
def _queries() -> list[str]:
    return resources.files("shardflake.fleet").joinpath("columns.sql").read_text(encoding="utf-8").split("\n\n")
