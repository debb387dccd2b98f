"""Install, check and operate the generator in one database: what the command line and applications call.

Every function takes an engine (see :func:`shardflake.connect.make_engine`) and raises
:class:`~shardflake.errors.ShardflakeError`.
"""

from __future__ import annotations

import difflib
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, TextIO

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy.dialects.postgresql import REGCLASS
from sqlalchemy.exc import DBAPIError

from shardflake import assets
from shardflake.alembic.scripts import VERSION_TABLE
from shardflake.connect import LIMIT_LOCK_WAITS, require_supported, translate_errors
from shardflake.errors import InstallationError, InvalidIdError, ServerError
from shardflake.layout import PRESETS

_ONE_ENVIRONMENT = Lock()  # env.py reaches its configuration through a module of Alembic's, one at a time in a process


@dataclass(frozen=True, slots=True)
class Status:
    """What ``shardflake.status()`` says, and the installed revision.

    Times are UTC; ``lead`` says how far the newest ids are ahead of the clock, None before the first one since a restart.
    """

    revision: str | None
    shard_id: int | None
    logical_shards: list[int]
    backfill_shards: list[int]
    layout: str
    identity: str
    clock: datetime
    high_water: datetime
    lead: timedelta | None
    max_lead: timedelta
    ids_per_ms_peak: int | None
    ids_per_ms_limit: int
    years_left: float


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What ``shardflake.confirm_identity()`` found: columns examined, the largest id in them, and the mark now."""

    columns_checked: int
    largest_id: int | None
    high_water: datetime


def config(output: TextIO | None = None, directory: Path | None = None) -> Config:
    """Return Alembic's configuration of the migrations that came with the package, without a file.

    :param directory: of the environment; the generator's by default.
    """
    alembic_config = Config(output_buffer=output)
    alembic_config.set_main_option("script_location", str(directory or assets.migrations_dir()).replace("%", "%%"))
    return alembic_config


@cache
def head() -> str:
    """Return the newest revision that this package holds."""
    revision = ScriptDirectory(str(assets.migrations_dir())).get_current_head()
    if revision is None:
        raise InstallationError(f"no migrations in {assets.migrations_dir()}; reinstall the package")
    return revision


def upgrade(engine: sa.Engine, shard_id: int | None = None, revision: str = "head", *, layout: str | None = None) -> str:
    """Bring a database to a revision and give it its shard id, both in one transaction.

    Safe to run again, and by two operators at once: a lock lets one wait for the other.

    :param shard_id: 0 to 8191; None leaves the id as it is.
    :param revision: an Alembic revision, ``head`` by default.
    :param layout: name of the layout of its ids, fixed from the first shard id on; None takes shardflake, or what is there.
    :returns: the revision that the database is at.
    """
    if shard_id is not None:
        check_shard_id(shard_id, layout)
    with transaction(engine) as connection:
        run_alembic(connection, command.upgrade, revision)
        if shard_id is not None:
            connection.execute(_assignment(shard_id, layout=layout))
        return _revision(connection) or "base"


def downgrade(engine: sa.Engine, revision: str = "base") -> None:
    """Go back to a revision; ``base`` removes the schema.

    :raises ColumnError: while a column default, view or function outside the schema uses it; the message lists them.
    """
    with transaction(engine) as connection:
        if _revision(connection) is None:
            raise InstallationError("shardflake is not installed in this database; nothing to downgrade")
        run_alembic(connection, command.downgrade, revision)


def offline_script(revision: str = "head", shard_id: int | None = None) -> str:
    """Return the SQL that :func:`upgrade` would run on an empty database, for a DBA to read and run with psql."""
    if shard_id is not None:
        check_shard_id(shard_id)
    script = write_script(revision)
    if shard_id is not None:
        script += f"SELECT shardflake.assign_shard({int(shard_id)});\n"
    return script


def write_script(revision: str = "head", directory: Path | None = None) -> str:
    """Return the SQL of an environment's revisions, up to one.

    :param directory: of the environment; the generator's by default.
    """
    output = io.StringIO()
    try:
        with _ONE_ENVIRONMENT:
            command.upgrade(config(output, directory), revision, sql=True)
    except CommandError as error:
        raise InstallationError(f"no script for revision {revision!r}: {error}; the newest is {head()!r}") from error
    return output.getvalue()


def assign(
    engine: sa.Engine,
    shard_id: int,
    *,
    logical_shards: Sequence[int] | None = None,
    max_lead: timedelta | None = None,
    replace: bool = False,
    layout: str | None = None,
) -> None:
    """Give a database its shard id, once; with the same id again, change the options alone.

    :param shard_id: 0 to 8191.
    :param logical_shards: further shard ids that the database may issue.
    :param max_lead: how far ids may run ahead of a clock that was set back; 0 refuses at once.
    :param replace: True gives a copy of another shard an id of its own.
    :param layout: as in :func:`upgrade`.
    :raises ShardIdError: for an id out of range, or a second one.
    """
    check_shard_id(shard_id, layout)
    with _installed(engine) as connection:
        connection.execute(_assignment(shard_id, logical_shards, max_lead, replace, layout))


def confirm(engine: sa.Engine) -> Confirmation:
    """Declare a restored, upgraded or altered database the only one of its shard, and re-arm its generator.

    :raises ServerError: if a table that holds ids cannot be read.
    """
    with _installed(engine) as connection:
        row = connection.execute(sa.text("select * from shardflake.confirm_identity()")).one()
        return Confirmation(row.columns_checked, row.largest_id, row.high_water.astimezone(UTC))


def status(engine: sa.Engine) -> Status:
    """Return the state of a shard's generator; draws no id, and works on a standby.

    A role that may only draw ids learns all but the revision, which is None then.
    """
    with _installed(engine) as connection:
        readable = connection.scalar(sa.text("select has_table_privilege(to_regclass('shardflake._revision'), 'select')"))
        row = connection.execute(sa.text("select * from shardflake.status()")).mappings().one()
        return status_of(row, _revision(connection) if readable else None)


def status_of(row: Mapping[Any, Any], revision: str | None) -> Status:
    """Return what a row of ``shardflake.status()`` says."""
    times = {name: row[name].astimezone(UTC) for name in ("clock", "high_water")}
    return Status(**{**row, **times, "revision": revision, "years_left": float(row["years_left"])})


def set_default(engine: sa.Engine, table: str, column: str, shard: int | None = None) -> list[str]:
    """Make ``next_id()`` the default of a column.

    :param table: as SQL names it: quoted where it must be, with or without its schema.
    :param column: the column's name, unquoted.
    :param shard: a logical shard that the database owns.
    :returns: the server's notices: what became of the old default and its sequence.
    :raises ColumnError: if the column cannot hold ids; the message says what to do.
    """
    with _installed(engine) as connection, _notices(connection) as notices:
        _require_table(connection, table)
        connection.execute(sa.text(LIMIT_LOCK_WAITS))
        call = sa.func.shardflake.set_id_default(_regclass(table), column, sa.cast(shard, sa.Integer))
        connection.execute(sa.select(call))
    return notices


def grant(engine: sa.Engine, role: str) -> None:
    """Let a role insert into tables whose ids come from the generator.

    :param role: the role's name, unquoted.
    """
    with _installed(engine) as connection:
        connection.execute(sa.text("select shardflake.grant_usage(cast(quote_ident(:role) as regrole))"), {"role": role})


def check(engine: sa.Engine) -> str:
    """Compare what a database contains with what its revision should.

    :returns: a unified diff, a section for each object; '' if there is none. The constants of the shard and grants
        to single roles do not count.
    :raises InstallationError: if the database is not at head; upgrade it first.
    """
    with _installed(engine) as connection:
        if (revision := _revision(connection)) != head():
            raise InstallationError(f"the database is at revision {revision}, not at {head()}; upgrade it first")
        return drift(catalog(connection))


def drift(found: str) -> str:
    """Return how what :func:`catalog` has found differs from the release, as :func:`check` does."""
    released, present = _released(), _objects(found)
    lines: list[str] = []
    for name in sorted(released.keys() | present.keys()):
        if (old := released.get(name, [])) != (new := present.get(name, [])):
            lines += difflib.unified_diff(old, new, f"{name} as released", f"{name} in this database", lineterm="")
    return "\n".join(lines)


@cache
def _released() -> dict[str, list[str]]:
    return _objects(assets.read("catalog.txt"))


def catalog(connection: sa.Connection) -> str:
    """Return what the schema contains, as text to compare: functions, sequences, comments, owners, public privileges."""
    connection.execute(sa.text("set local search_path = pg_catalog"))
    return catalog_text(connection.execute(sa.text(assets.read("catalog.sql").replace(":", r"\:"))))


def catalog_text(rows: Iterable[Sequence[Any]]) -> str:
    """Return the text of :func:`catalog` for the rows that ``catalog.sql`` gives."""
    return "\n".join(
        f"== {name}\n{definition}\ncomment: {comment}\nowner: {owner}; public may: {public_privileges}\n"
        for name, definition, comment, owner, public_privileges in rows
    )


def _objects(text: str) -> dict[str, list[str]]:
    """Divide what :func:`catalog` returns into its objects: the lines of each, by its name."""
    sections = (section.splitlines() for section in re.split(r"^== ", text, flags=re.MULTILINE)[1:])
    return {name: lines for name, *lines in sections}


def _assignment(
    shard_id: int,
    logical_shards: Sequence[int] | None = None,
    max_lead: timedelta | None = None,
    replace: bool = False,
    layout: str | None = None,
) -> sa.Select[Any]:
    """Return the call of ``shardflake.assign_shard()``."""
    shards = sa.cast(list(logical_shards) if logical_shards is not None else None, sa.ARRAY(sa.Integer))
    call = sa.func.shardflake.assign_shard(shard_id, shards, sa.cast(max_lead, sa.Interval), replace, sa.cast(layout, sa.Text))
    return sa.select(call)


def check_shard_id(shard_id: int, layout: str | None = None) -> None:
    """Raise InvalidIdError for a shard id or a layout that cannot be, before anything is done to a database.

    Without a layout the default one is meant; a larger id of another layout needs its name, also when it is assigned again.
    """
    if layout is not None and layout not in PRESETS:
        raise InvalidIdError(f"there is no layout {layout!r}; choose one of {', '.join(PRESETS)}")
    fields = PRESETS[layout or "shardflake"].fields
    last = next(field.capacity for field in fields if field.name == "shard") - 1
    if not 0 <= shard_id <= last:
        raise InvalidIdError(f"shard id {shard_id} is not between 0 and {last}")


def _require_table(connection: sa.Connection, table: str) -> None:
    """Raise ServerError if a table, named as SQL names it, does not exist or is no name at all."""
    try:
        found = connection.scalar(sa.select(sa.func.to_regclass(table))) is not None
    except DBAPIError as error:  # PostgreSQL 15 raises for what is no name; newer ones say NULL
        if getattr(error.orig, "sqlstate", None) not in ("0A000", "42601", "42602"):
            raise
        found = False
    if not found:
        raise ServerError(
            f"there is no table {table}",
            "42P01",
            'Give it as SQL names it: with its schema if that is not in the search path, "Quoted" if it has capitals.',
        )


def _regclass(table: str) -> sa.ColumnElement[Any]:
    return sa.cast(table, REGCLASS)


def _revision(connection: sa.Connection) -> str | None:
    options = {"version_table": VERSION_TABLE, "version_table_schema": "shardflake"}
    return MigrationContext.configure(connection, opts=options).get_current_revision()


def run_alembic(connection: sa.Connection, operation: Any, revision: str, directory: Path | None = None) -> None:
    """Run one of Alembic's commands, such as ``command.upgrade``, on a connection; the caller commits.

    :param directory: of the environment; the generator's by default.
    """
    alembic_config = config(io.StringIO(), directory)
    alembic_config.attributes["connection"] = connection
    try:
        with _ONE_ENVIRONMENT:
            operation(alembic_config, revision)
    except CommandError as error:
        raise InstallationError(f"cannot go to revision {revision!r}: {error}; the newest is {head()!r}") from error


@contextmanager
def transaction(engine: sa.Engine) -> Iterator[sa.Connection]:
    """Give a transaction on a supported server; all or nothing."""
    with translate_errors(), engine.connect() as connection:
        require_supported(connection)
        connection.rollback()
        try:
            with connection.begin():
                yield connection
        except BaseException:
            # PostgreSQL cannot start after a crash if CREATE UNLOGGED SEQUENCE was rolled back and the WAL of the rollback was
            # not yet written: this commit writes it at once.
            with connection.begin():
                connection.execute(sa.text("select pg_current_xact_id()"))
            raise


@contextmanager
def _installed(engine: sa.Engine) -> Iterator[sa.Connection]:
    """Give a transaction in a database that has the generator."""
    with translate_errors(), engine.begin() as connection:
        require_supported(connection)
        if connection.scalar(sa.text("select to_regproc('shardflake.status')")) is None:
            raise InstallationError("shardflake is not installed in this database; run: shardflake db upgrade")
        yield connection


@contextmanager
def _notices(connection: sa.Connection) -> Iterator[list[str]]:
    """Collect the notices that the server sends meanwhile."""
    messages: list[str] = []
    driver: Any = connection.connection.driver_connection

    def collect(diagnostic: Any) -> None:
        messages.append(diagnostic.message_primary)

    driver.add_notice_handler(collect)
    try:
        yield messages
    finally:
        driver.remove_notice_handler(collect)
