"""Turn what users write for a database into an engine, and what drivers say into our errors. Never shows a password."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError

from shardflake.errors import ConnectionFailedError, ServerError, ShardflakeError, UnsupportedServerError, from_driver

OLDEST_SERVER = 150000

LIMIT_LOCK_WAITS = (
    "select pg_catalog.set_config('lock_timeout', '10s', true) where pg_catalog.current_setting('lock_timeout') = '0'"
)
"""SQL that ends a transaction's waits for locks after 10 s, unless the session has a limit of its own."""

_HINTS = {
    "25006": "The server is a standby, or the session read-only; use the primary.",
    "42501": "Use the role that owns schema shardflake (to install: one that may create it) and, for a default, the table.",
    "42704": "Check the name: it is taken as it stands, capitals included.",
    "55P03": "Another session holds a lock that this needs: another upgrade, or a long transaction (see pg_locks). Nothing was "
    "changed; try again later, or wait longer with PGOPTIONS='-c lock_timeout=60s'.",
}
"""What to do about errors of PostgreSQL that come without a hint, by SQLSTATE."""


def make_engine(url: str | None = None) -> sa.Engine:
    """Return an engine without a pool, for one command's work.

    :param url: a SQLAlchemy URL (``postgresql+psycopg://...``; the driver's name is ignored), a libpq URI
        (``postgresql://...``) or a libpq keyword string (``host=... dbname=...``); None or '' takes libpq's PG* environment.
    :raises ConnectionFailedError: if it is none of these.
    """
    target = conninfo(url)
    return sa.create_engine(
        "postgresql+psycopg://",
        creator=lambda: psycopg.connect(target),
        poolclass=sa.NullPool,
    )


def conninfo(url: str | None = None) -> str:
    """Return a libpq keyword string for any of the forms that :func:`make_engine` takes; connects to nothing.

    :raises ConnectionFailedError: if it is none of these; the message does not repeat it.
    """
    url = url or ""
    try:
        if re.match(r"\w+\+\w+://", url):
            parsed = sa.make_url(url)
            url = parsed.set(drivername="postgresql").render_as_string(hide_password=False)
        parameters = conninfo_to_dict(url)
        if _spills_password(parameters):
            raise ValueError("a part of the password would be taken for the host, the port or the database")
    except (ArgumentError, ValueError, psycopg.ProgrammingError):
        # the driver's message would repeat the text, password included
        raise ConnectionFailedError(
            "the database URL cannot be read; give postgresql://user@host:port/database, "
            "a libpq string such as 'host=... dbname=...', or nothing for the PG* environment; "
            "in a URL, write @ : / ? in the password as %40 %3A %2F %3F"
        ) from None
    parameters.setdefault("application_name", "shardflake")
    if "PGCONNECT_TIMEOUT" not in os.environ:
        parameters.setdefault("connect_timeout", "10")
    return make_conninfo("", **parameters)


def _spills_password(parameters: Mapping[str, Any]) -> bool:
    """Say whether a URL was cut in the middle of a password that holds a bare @ or /: errors would show what is left of it."""
    address = (str(parameters.get(name) or "") for name in ("host", "dbname"))
    return any("@" in part for part in address) or not re.fullmatch(r"[\d,]*", str(parameters.get("port") or ""))


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise our errors in the place of those of SQLAlchemy and the driver, which stay as their cause."""
    try:
        yield
    except DBAPIError as error:
        lost = isinstance(error, OperationalError) and error.connection_invalidated
        raise _ours(error.orig, lost) from error
    except psycopg.Error as error:
        raise _ours(error, lost=False) from error


def _ours(error: Any, lost: bool) -> ShardflakeError:
    """Return our error for one of the driver's.

    :param lost: True if the connection is known to have ended.
    """
    if (own := from_driver(error)) is not None:
        return own
    diagnostics, sqlstate = getattr(error, "diag", None), getattr(error, "sqlstate", None)
    if lost or (isinstance(error, psycopg.OperationalError) and sqlstate is None):
        return ConnectionFailedError(f"cannot connect: {str(error).strip()}")
    message = getattr(diagnostics, "message_primary", None) or str(error)
    if (sqlstate or "").startswith(("28", "3D")):
        return ConnectionFailedError(f"cannot connect: {message}")
    return ServerError(message, sqlstate, getattr(diagnostics, "message_hint", None) or _HINTS.get(sqlstate or ""))


def require_supported(connection: sa.Connection) -> None:
    """Check that the server is one that the generator runs on.

    :raises UnsupportedServerError: below PostgreSQL 15.
    """
    require_version(connection.scalar(sa.text("select current_setting('server_version_num')::integer")) or 0)


def require_version(number: int) -> None:
    """Check a server's version.

    :param number: such as 150004.
    :raises UnsupportedServerError: below PostgreSQL 15.
    """
    if number < OLDEST_SERVER:
        raise UnsupportedServerError(f"the server is PostgreSQL {number // 10000}; shardflake needs PostgreSQL 15 or newer")
