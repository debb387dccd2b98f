"""Look at one shard: everything that :mod:`shardflake.fleet.check` compares, read in one connection. Draws no id."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources

import psycopg
import sqlalchemy as sa

from shardflake import install
from shardflake.connect import require_supported, translate_errors
from shardflake.fleet.file import Shard


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


def probe(shard: Shard) -> Probe:
    """Return which database a shard is and what is installed in it."""
    with one_connection(shard) as engine, translate_errors(), engine.connect() as connection:
        require_supported(connection)
        found = _database(connection)
        if connection.scalar(sa.text("select to_regproc('shardflake.status')")) is None:
            return Probe(found, False, None, None, ())
        readable = connection.scalar(sa.text("select has_table_privilege(to_regclass('shardflake._revision'), 'select')"))
        revision = connection.scalar(sa.text("select version_num from shardflake._revision")) if readable else None
        state = connection.execute(sa.text("select * from shardflake.status()")).one()
        return Probe(found, True, revision, state.shard_id, tuple(state.logical_shards), tuple(state.backfill_shards))


def observe(shard: Shard) -> Observation:
    """Return what a shard says of itself."""
    with one_connection(shard) as engine:
        with translate_errors(), engine.connect() as connection:
            require_supported(connection)
            found, clock = _database(connection), _clock(connection)
            if connection.scalar(sa.text("select to_regproc('shardflake.status')")) is None:
                return Observation(found, clock, None, "", ())
        state = install.status(engine)
        drift = install.check(engine) if state.revision == install.head() else ""
        with translate_errors(), engine.connect() as connection:
            return Observation(found, clock, state, drift, _columns(connection))


def status(shard: Shard) -> install.Status:
    """Return what ``shardflake.status()`` says of a shard."""
    with one_connection(shard) as engine:
        return install.status(engine)


@contextmanager
def one_connection(shard: Shard) -> Iterator[sa.Engine]:
    """Give an engine that logs in once and uses that connection again, and close it."""
    engine = sa.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(shard.conninfo), poolclass=sa.StaticPool)
    try:
        yield engine
    finally:
        engine.dispose()


def _database(connection: sa.Connection) -> Database:
    row = connection.execute(
        sa.text(
            "select oid, datname, host(inet_server_addr()), inet_server_port(), "
            "has_function_privilege('pg_control_system()', 'execute') from pg_database where datname = current_database()"
        )
    ).one()
    system = connection.scalar(sa.text("select system_identifier from pg_control_system()")) if row[4] else None
    return Database(system, row[0], row[1], row[2], row[3])


def _clock(connection: sa.Connection) -> Clock:
    """Compare the clocks, three times; the shortest round trip tells most."""
    best = Clock(float("-inf"), float("inf"))
    for _ in range(3):
        before = time.time()
        there = float(connection.scalar(sa.text("select date_part('epoch', clock_timestamp())")) or 0)
        after = time.time()
        if after - before < best.latest - best.earliest:
            best = Clock(there - after, there - before)
    return best


def _columns(connection: sa.Connection) -> tuple[Column, ...]:
    """Return columns that hold or should hold ids and have something wrong about them."""
    queries = resources.files("shardflake.fleet").joinpath("columns.sql").read_text(encoding="utf-8").split("\n\n")
    wrong = [Column(*row) for row in connection.execute(sa.text(queries[0]))]
    for table, column in connection.execute(sa.text(queries[1])).all():
        path = [sa.sql.quoted_name(part, True) for part in table]
        source = sa.table(path[1], sa.column(column), schema=path[0])
        largest = connection.scalar(sa.select(sa.func.max(source.c[column])))
        if largest is not None and connection.scalar(sa.text(queries[2]), {"id": largest}):
            wrong.append(Column("no default", ".".join(table), column, f"its largest value is the id {largest}"))
    return tuple(wrong)
