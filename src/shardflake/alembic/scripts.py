"""The one way in which SQL files reach a server through Alembic, online and offline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import sqlalchemy as sa
from alembic.script import ScriptDirectory

from shardflake import assets
from shardflake.errors import InstallationError

# The SQL-standard bodies bind names when they are created: under pg_catalog alone, whatever the caller's search_path is. The
# caller's comes back afterwards; a setting of our own carries it, so that the offline script does the same.
_BIND_TO_CATALOG = (
    "select pg_catalog.set_config('shardflake.search_path', pg_catalog.current_setting('search_path'), true)",
    "set local search_path = pg_catalog, pg_temp",
)
_RESTORE = "select pg_catalog.set_config('search_path', pg_catalog.current_setting('shardflake.search_path'), true)"


VERSION_TABLE = "_revision"
"""Not ``alembic_version``: an application with our schema in its search_path would take that for the table of its history."""


class Executor(Protocol):
    """What runs statements in a migration: ``alembic.op``, or the ``Operations`` that an operation is given."""

    def execute(self, sqltext: Any, /) -> None:
        """Run a statement, or write it to the offline script."""


def execute_statement(operations: Executor, statement: str) -> None:
    """Run one statement exactly as written.

    ``DDL`` alone keeps ``:name``, ``::`` and, doubled, ``%`` as they are, and writes the same text offline.
    """
    operations.execute(sa.DDL(statement.replace("%", "%%")))  # type: ignore[no-untyped-call]


def execute_text(operations: Executor, text: str) -> None:
    """Run the statements of a SQL file's text."""
    for statement in (*_BIND_TO_CATALOG, *assets.statements(text), _RESTORE):
        execute_statement(operations, statement)


def execute_pinned(operations: Executor, revision: str, pins: Mapping[str, str]) -> None:
    """Run SQL files as a revision released them.

    :param revision: the revision that released them.
    :param pins: fingerprints by file name, in the order to run.
    :raises InstallationError: if a file no longer has the text that was released.
    """
    texts = [assets.pinned(name, pin, revision) for name, pin in pins.items()]  # all of them, before the first one runs
    for text in texts:
        execute_text(operations, text)


def released(version: int, *, above: int = 0) -> list[Any]:
    """Return the revision modules that lead to a released version, first one first.

    :param version: 1 is revision ``0001``, and so on.
    :param above: the version that they lead from; 0 is nothing.
    :raises InstallationError: for a version that this package does not hold, or one that is not above the other.
    """
    directory = ScriptDirectory(str(assets.migrations_dir()))
    known = {int(script.revision): script.module for script in directory.walk_revisions()}
    if version not in known:
        raise InstallationError(f"shardflake has no version {version}; this package holds {sorted(known)}")
    if not 0 <= above < version:
        raise InstallationError(
            f"no way leads from version {above} of shardflake to version {version}: it must be 0 to {version - 1}"
        )
    return [known[number] for number in sorted(known) if above < number <= version]
