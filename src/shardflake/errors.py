"""The exception tree, and the one map from the SQLSTATEs of the SQL functions to it.

::

    ShardflakeError
    ├── InvalidIdError (also a ValueError)      a number, text, time or part that no id can have
    ├── ExhaustedError                          a generator in this process has no id left for the moment
    ├── UnsupportedServerError                  not PostgreSQL, or older than 15
    ├── ConnectionFailedError                   the server cannot be reached
    ├── InstallationError                       a file, revision or option of the installation is wrong
    ├── ResultsError                            results of a benchmark cannot be read or compared
    ├── FleetFileError                          shards.toml cannot be read; the message lists the lines
    ├── NoLeaseError                            a worker generator holds no lease, or its clock is off: it issues nothing
    ├── ServerError                             any other error of the server; carries .sqlstate and .hint
    └── GeneratorError (a ServerError)          raised by the SQL functions
        ├── ShardIdError                        SF001 SF007 SF008 SF009
        ├── IdentityError                       SF002 SF003
        ├── ClockError                          SF004 SF005
        ├── DurabilityError                     SF006
        ├── RegistryError                       SF020 SF021 SF022
        ├── RangeError (also a ValueError)      SF010 SF011
        ├── ColumnError                         SF012 SF013
        ├── WorkerError                         SF030
        │   ├── WorkerHeldError                 SF031
        │   └── LeaseLostError                  SF032
        ├── TicketError                         SF033
        ├── LayoutError                         SF014
        ├── FeedError                           SF040
        ├── PartitionError                      SF041
        └── BackfillError                       SF050 SF051
"""

from __future__ import annotations

from typing import Any


class ShardflakeError(Exception):
    """Base of everything that this package raises on purpose."""


class InvalidIdError(ShardflakeError, ValueError):
    """A number, a text, a time or a part that no id can have; the message names the value and what is allowed."""


class ExhaustedError(ShardflakeError):
    """A generator in this process has no id left that is larger than its last one and of the same moment."""


class UnsupportedServerError(ShardflakeError):
    """The server is not PostgreSQL, or older than PostgreSQL 15."""


class ConnectionFailedError(ShardflakeError):
    """The server cannot be reached or does not let the role in."""


class InstallationError(ShardflakeError):
    """A file, a revision or an option of the installation is not what it must be."""


class ResultsError(ShardflakeError):
    """Results of a benchmark cannot be read, or not be compared with others."""


class FleetFileError(ShardflakeError):
    """The file that describes the fleet is not what it must be; the message names the line of everything that is wrong."""


class NoLeaseError(ShardflakeError):
    """A worker generator may issue nothing now: it holds no lease that is fresh enough, or its clock was set back."""


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


class RegistryError(GeneratorError):
    """A shard id is taken or retired, or a name or database holds another one already, or none."""


class ColumnError(GeneratorError):
    """A column cannot take ``next_id()`` as its default, or still uses it."""


class LayoutError(GeneratorError):
    """The layout is unknown, does not fit 63 bits or the clock, or is another than the one that the database has."""


class WorkerError(GeneratorError):
    """A worker id, a range of them, or an argument of a lease is not what it must be."""


class WorkerHeldError(WorkerError):
    """Someone else holds the worker id, or ids of the range."""


class LeaseLostError(WorkerError):
    """A lease of a worker id is over and cannot be renewed."""


class TicketError(GeneratorError):
    """A series of tickets is unknown, taken or exhausted, or an argument is out of range."""


class FeedError(GeneratorError):
    """The horizon of a feed was asked for on a standby, in an unfit transaction, or with a state that is not its own."""


class PartitionError(GeneratorError):
    """A table cannot get partitions by time, or an object is in the way of one."""


class BackfillError(GeneratorError):
    """A shard id is not, or cannot be, reserved for imported rows, or their times do not ascend."""


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
    "SF014": LayoutError,
    "SF020": RegistryError,
    "SF021": RegistryError,
    "SF022": RegistryError,
    "SF030": WorkerError,
    "SF031": WorkerHeldError,
    "SF032": LeaseLostError,
    "SF033": TicketError,
    "SF040": FeedError,
    "SF041": PartitionError,
    "SF050": BackfillError,
    "SF051": BackfillError,
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


def shown(value: object) -> str:
    """Return a value as a message shows it: its repr, or its size where that would be long (or, for an int, impossible)."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"{'a negative' if value < 0 else 'a'} number of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:80]}… ({len(text)} characters)"
