"""Logical shards: many shard ids in one database, so that a part of its rows can move to another server and keep its ids.

They share the generator of their database: a thousand of them cost no more than one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any, Protocol

import psycopg
from psycopg import sql
from psycopg.rows import scalar_row

from shardflake import install
from shardflake.connect import make_engine, translate_errors
from shardflake.errors import ConnectionFailedError, InstallationError, ServerError, from_driver
from shardflake.fleet import registry as registered
from shardflake.fleet.file import Shard

_WORKING = """
select pg_catalog.array_agg(l.virtualtransaction)
  from pg_catalog.pg_locks l join pg_catalog.pg_stat_activity a using (pid)
 where l.locktype = 'virtualxid' and l.granted and a.datname = pg_catalog.current_database()
   and pid <> pg_catalog.pg_backend_pid() and a.backend_type <> 'autovacuum worker'
"""
_TABLES = """
select c.relname,
       array(select a.attname::text from pg_catalog.pg_attribute a
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum),
       array(select distinct r.relname::text from pg_catalog.pg_constraint f join pg_catalog.pg_class r on r.oid = f.confrelid
              where f.contype = 'f' and f.conrelid = c.oid and f.confrelid <> c.oid and r.relnamespace = c.relnamespace)
  from pg_catalog.pg_class c
 where c.relnamespace = pg_catalog.to_regnamespace(pg_catalog.quote_ident(%s))
   and c.relkind in ('r', 'p') and not c.relispartition
"""


@dataclass(frozen=True, slots=True)
class Moved:
    """What a move did.

    :param rows: copied.
    :param bound: no id that the source has issued exceeds it.
    :param seconds: during which neither side issued ids of the shard.
    :param left_in: schema that keeps the source's rows; None if no schema was moved.
    """

    rows: int
    bound: int
    seconds: float
    left_in: str | None


class Record(Protocol):
    """Writes the new holder into the registry; a rehearsal only raises what would go wrong."""

    def __call__(self, *, rehearse: bool = False) -> None: ...


def create(shard: Shard, shard_ids: Sequence[int]) -> None:
    """Let a database issue ids of further shards.

    :param shard_ids: 0 to 8191, none of which another database may issue.
    """
    for number in shard_ids:
        install.check_shard_id(number)
    with translate_errors(), make_engine(shard.conninfo).begin() as connection:
        connection.exec_driver_sql("select shardflake.add_logical_shards(%s::integer[])", (list(shard_ids),))


def move(
    source: Shard,
    target: Shard,
    shard_id: int,
    *,
    schema: str | None = None,
    resume: bool = False,
    patience: float = 60.0,
    registry: str | None = None,
) -> Moved:
    """Move a logical shard to another database, which goes on with ids above all that the source has issued.

    The source refuses first, for good; then its running transactions end; then rows are copied, the registry records the target
    as the holder, and the target begins. Ended anywhere in between, nobody issues ids of the shard, and the same call goes on
    from there. The registry comes right before the target begins, so that it always names whoever issues ids: naming the target
    earlier would give the shard away while the source still issues, naming it later would leave the target without a record,
    and the source's could be retired under it.

    :param schema: holds the shard's tables, on both sides, empty on the target; it is renamed on the source, to
        ``<schema>_moving`` and then ``<schema>_moved``. None moves the right to issue ids alone.
    :param resume: True goes on with a move without a schema that was interrupted: neither side has the shard then.
    :param patience: seconds to wait for transactions of the source that began before.
    :param registry: its database, if the fleet has one.
    :raises InstallationError: if the source does not have the shard, or a transaction outlasts the patience.
    :raises RegistryError: if neither of the two holds the shard; nothing is changed then.
    """
    place = registered.place_of(target) if registry is not None else None

    def record(*, rehearse: bool = False) -> None:
        if registry is not None and place is not None:
            registered.move(registry, shard_id, source.name, place, rehearse=rehearse)

    with closing(_connect(source)) as there, closing(_connect(target)) as here:
        try:
            return _move(there, here, shard_id, schema, resume, patience, record)
        except psycopg.Error as error:
            own = from_driver(error)
            raise own or ServerError(str(error).strip(), error.sqlstate) from error


def _move(
    source: psycopg.Connection,
    target: psycopg.Connection,
    shard_id: int,
    schema: str | None,
    resume: bool,
    patience: float,
    record: Record,
) -> Moved:
    if _layout(source) != _layout(target):
        raise InstallationError("the ids of the two databases have different layouts: see layout in status()")
    at_source, at_target = shard_id in _logical_shards(source), shard_id in _logical_shards(target)
    moving = f"{schema}_moving" if schema is not None else None
    begun = resume or (moving is not None and _has_schema(source, moving))
    if at_source and at_target:
        raise InstallationError(f"both databases issue ids of shard {shard_id}; run: shardflake fleet check")
    if not at_source and not begun:
        hint = "; to go on with an interrupted move, run it with --resume" if schema is None and not at_target else ""
        raise InstallationError(f"the source does not issue ids of shard {shard_id}{hint}")
    if schema is not None:
        _require_tables(source, target, schema if at_source else f"{schema}_moving", schema)
    record(rehearse=at_source or not at_target)
    started = time.monotonic()
    if at_source:
        with source.transaction():
            source.execute("select shardflake.remove_logical_shards(array[%s::integer])", (shard_id,))
            if schema is not None:
                _rename(source, schema, f"{schema}_moving")
    rows, bound = 0, 0
    if not at_target:
        _wait_for_older_transactions(source, patience)
        rows, bound = _hand_over(source, target, shard_id, schema, record)
    seconds = time.monotonic() - started
    if schema is not None:
        _rename(source, f"{schema}_moving", f"{schema}_moved")
    return Moved(rows, bound, seconds, f"{schema}_moved" if schema is not None else None)


def _layout(connection: psycopg.Connection) -> object:
    query = "select (shardflake._layout(), shardflake._tick_ms(), shardflake.epoch_ms())::text"
    return _scalar(connection, query)


def _hand_over(
    source: psycopg.Connection, target: psycopg.Connection, shard_id: int, schema: str | None, record: Record
) -> tuple[int, int]:
    """Copy the rows and let the target begin, in one transaction of the target; returns rows and the source's bound."""
    with source.transaction(), target.transaction():
        rows = _copy(source, target, f"{schema}_moving", schema) if schema is not None else 0
        bound = _scalar(source, "select shardflake.last_id_bound()")
        target.execute("select shardflake.add_logical_shards(array[%s::integer], %s)", (shard_id, bound))
        record()  # when nothing is left to fail but the commit
    return rows, int(bound)


def _copy(source: psycopg.Connection, target: psycopg.Connection, old: str, new: str) -> int:
    """Copy all rows of a schema's tables, those that others refer to first."""
    tables = {name: (columns, refers) for name, columns, refers in source.execute(_TABLES, (old,))}
    try:
        order = list(TopologicalSorter({name: set(refers) for name, (_, refers) in tables.items()}).static_order())
    except CycleError as error:
        raise InstallationError(f"the tables of {old} refer to one another in a circle: {', '.join(error.args[1])}") from error
    rows = 0
    for name in order:
        columns = sql.SQL(", ").join(map(sql.Identifier, tables[name][0]))
        # prepared transactions outlast sessions; this waits for their rows
        source.execute(sql.SQL("lock table {} in share mode").format(sql.Identifier(old, name)))
        read = sql.SQL("copy (select {} from {}) to stdout (format binary)").format(columns, sql.Identifier(old, name))
        write = sql.SQL("copy {} ({}) from stdin (format binary)").format(sql.Identifier(new, name), columns)
        with source.cursor().copy(read) as reader, target.cursor() as cursor:
            with cursor.copy(write) as writer:
                for block in reader:
                    writer.write(block)
            rows += cursor.rowcount
    return rows


def _wait_for_older_transactions(connection: psycopg.Connection, patience: float) -> None:
    """Wait until every transaction that runs now has ended: it may issue ids by a plan made before."""
    older = set(_scalar(connection, _WORKING) or [])
    deadline = time.monotonic() + patience
    while older and (older := older & set(_scalar(connection, _WORKING) or [])):
        if time.monotonic() > deadline:
            raise InstallationError(
                f"{len(older)} transactions of the source have run for more than {patience:g} s; end them (pg_stat_activity), "
                "then run the same move again: nobody issues ids of the shard until then"
            )
        time.sleep(0.02)


def _require_tables(source: psycopg.Connection, target: psycopg.Connection, old: str, new: str) -> None:
    if not _has_schema(source, old):
        raise InstallationError(f"the source has no schema {old}")
    wanted = {name: columns for name, columns, _ in source.execute(_TABLES, (old,))}
    present = {name: columns for name, columns, _ in target.execute(_TABLES, (new,))}
    for name, columns in wanted.items():
        if missing := set(columns) - set(present.get(name, [])):
            what = "the table" if name not in present else f"the columns {', '.join(sorted(missing))} of"
            raise InstallationError(f"the target lacks {what} {new}.{name}; create it there first: nothing was changed")


def _connect(shard: Shard) -> psycopg.Connection:
    try:
        return psycopg.connect(shard.conninfo, autocommit=True)
    except psycopg.OperationalError as error:
        raise ConnectionFailedError(f"cannot connect to {shard.name}: {str(error).strip()}") from error


def _logical_shards(connection: psycopg.Connection) -> list[int]:
    return list(_scalar(connection, "select logical_shards from shardflake.status()"))


def _has_schema(connection: psycopg.Connection, name: str) -> bool:
    return bool(_scalar(connection, "select pg_catalog.to_regnamespace(pg_catalog.quote_ident(%s)) is not null", name))


def _rename(connection: psycopg.Connection, old: str, new: str) -> None:
    connection.execute(sql.SQL("alter schema {} rename to {}").format(sql.Identifier(old), sql.Identifier(new)))


def _scalar(connection: psycopg.Connection, query: str, *parameters: object) -> Any:
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(query.encode(), parameters).fetchone()
