"""The exception tree, and the one map from the SQLSTATEs of the SQL functions to it.

::

    ShardflakeError
    ├── InvalidIdError (also a ValueError)      a number, text, time or part that no id can have
    ├── UnsupportedServerError                  not PostgreSQL, or older than 15
    ├── ConnectionFailedError                   the server cannot be reached
    ├── InstallationError                       a file, revision or option of the installation is wrong
    ├── ServerError                             any other error of the server; carries .sqlstate and .hint
    └── GeneratorError (a ServerError)          raised by the SQL functions
        ├── ShardIdError                        SF001 SF007 SF008 SF009
        ├── IdentityError                       SF002 SF003
        ├── ClockError                          SF004 SF005
        ├── DurabilityError                     SF006
        ├── RangeError (also a ValueError)      SF010 SF011
        ├── ColumnError                         SF012 SF013
        ├── FeedError                           SF020
        └── PartitionError                      SF021
"""

from __future__ import annotations

from typing import Any


class ShardflakeError(Exception):
    """Base of everything that this package raises on purpose."""


class InvalidIdError(ShardflakeError, ValueError):
    """A number, a text, a time or a part that no id can have; the message names the value and what is allowed."""


class UnsupportedServerError(ShardflakeError):
    """The server is not PostgreSQL, or older than PostgreSQL 15."""


class ConnectionFailedError(ShardflakeError):
    """The server cannot be reached or does not let the role in."""


class InstallationError(ShardflakeError):
    """A file, a revision or an option of the installation is not what it must be."""


class ServerError(ShardflakeError):
    """The server refused a statement.

    :param message: the server's message.
    :param sqlstate: its five-character code.
    :param hint: what to do, as the server says it.
    """

    def __init__(self, message: str, sqlstate: str | None, hint: str | None = None) -> None:
        super().__init__(message + (f" ({sqlstate})" if sqlstate else "") + (f"\n{hint}" if hint else ""))
        self.sqlstate = sqlstate
        self.hint = hint


class GeneratorError(ServerError):
    """Raised by a SQL function of the schema ``shardflake``; the SQLSTATE is of class ``SF``."""


class ShardIdError(GeneratorError):
    """The shard id is missing, out of range, taken already, or not one that this database owns."""


class IdentityError(GeneratorError):
    """The generator is a copy, was altered, or its state cannot be read; ``confirm_identity()`` re-arms it."""


class ClockError(GeneratorError):
    """The clock is too far behind the ids issued, or the time field is exhausted."""


class DurabilityError(GeneratorError):
    """The high-water mark could not be made durable."""


class RangeError(GeneratorError, ValueError):
    """An argument of a SQL function is out of range."""


class ColumnError(GeneratorError):
    """A column cannot take ``next_id()`` as its default, or still uses it."""


class FeedError(GeneratorError):
    """The horizon of a feed was asked for in an unfit transaction, or with a state that is not its own."""


class PartitionError(GeneratorError):
    """A table cannot get partitions by time, or an object is in the way of one."""


SQLSTATES: dict[str, type[GeneratorError]] = {
    "SF001": ShardIdError,
    "SF002": IdentityError,
    "SF003": IdentityError,
    "SF004": ClockError,
    "SF005": ClockError,
    "SF006": DurabilityError,
    "SF007": ShardIdError,
    "SF008": ShardIdError,
    "SF009": ShardIdError,
    "SF010": RangeError,
    "SF011": RangeError,
    "SF012": ColumnError,
    "SF013": ColumnError,
    "SF020": FeedError,
    "SF021": PartitionError,
}


def from_driver(error: BaseException) -> GeneratorError | None:
    """Translate a driver's or SQLAlchemy's exception into ours, by its SQLSTATE.

    :param error: an exception of psycopg or asyncpg, or the ``DBAPIError`` that SQLAlchemy wraps around one.
    :returns: the matching :class:`GeneratorError`, or None if the SQLSTATE is not one of ours.
    """
    driver_error: Any = getattr(error, "orig", None) or error
    sqlstate = getattr(driver_error, "sqlstate", None)
    if sqlstate not in SQLSTATES:
        return None
    # SQLAlchemy hides asyncpg's exception, which has the hint, behind one of its own
    source: Any = driver_error.__cause__ if hasattr(driver_error.__cause__, "sqlstate") else driver_error
    diagnostics: Any = getattr(source, "diag", source)
    message = getattr(diagnostics, "message_primary", None) or getattr(source, "message", None) or str(source)
    hint = getattr(diagnostics, "message_hint", None) or getattr(source, "hint", None)
    return SQLSTATES[sqlstate](message, sqlstate, hint)
