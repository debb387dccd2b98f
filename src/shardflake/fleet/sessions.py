"""Sessions over all shards, in which a lookup by id touches one: choosers for ``sqlalchemy.ext.horizontal_shard``.

::

    Session = sharded_sessions(shards)
    with Session() as session:
        order = session.get(Order, order_id)                       # one statement, on the order's shard
        session.scalars(select(Order).where(Order.id.in_(ids)))    # one statement on each shard that the ids name
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import cycle
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker
from sqlalchemy.ext.horizontal_shard import ShardedSession
from sqlalchemy.orm import Mapper, ORMExecuteState, sessionmaker
from sqlalchemy.sql import operators
from sqlalchemy.sql.elements import BinaryExpression, BindParameter, BooleanClauseList, ClauseList, ColumnElement, Grouping

from shardflake.fleet.routing import ShardMap
from shardflake.sqlalchemy import ShardflakeId

Place = Callable[[Any], str]
"""Names the database for a new object that has no id yet; to keep rows together, ask the map for the id of its parent."""


class Choosers:
    """The three callables that ``ShardedSession`` asks which shards to use.

    :param shards: leads from ids to databases.
    :param place: names the database for a new object without an id; by default they take turns.
    """

    def __init__(self, shards: ShardMap[Any], place: Place | None = None) -> None:
        self._shards = shards
        turns = cycle(shards)
        self._place: Place = place or (lambda instance: next(turns))

    def shard_chooser(self, mapper: Mapper[Any] | None, instance: Any, clause: Any = None) -> str:
        """Name the database for an object that is flushed."""
        if mapper is not None and instance is not None:
            column = id_column_of(mapper)
            value = (
                mapper.get_property_by_column(column).class_attribute.__get__(instance, type(instance))
                if column is not None
                else None
            )
            if value is not None:
                return self._shards.name(value)
        return self._place(instance)

    def identity_chooser(self, mapper: Mapper[Any], primary_key: tuple[Any, ...], **options: Any) -> list[str]:
        """Name the database for a lookup by primary key."""
        column = id_column_of(mapper)
        if column is None:
            return list(self._shards)
        return [self._shards.name(primary_key[mapper.primary_key.index(column)])]

    def execute_chooser(self, context: ORMExecuteState) -> list[str]:
        """Name the databases for a statement: those that its ``id ==`` and ``IN`` name, else all."""
        parameters = context.parameters if isinstance(context.parameters, Mapping) else {}
        ids = ids_of(getattr(context.statement, "whereclause", None), parameters)
        if ids is None:
            return list(self._shards)
        return sorted({self._shards.name(number) for number in ids}) or list(self._shards)[:1]  # IN (): one shard says "none"


def sharded_sessions(shards: ShardMap[sa.Engine], place: Place | None = None, **options: Any) -> sessionmaker[ShardedSession]:
    """Return a maker of sessions over all shards.

    Each shard commits by itself: there is no transaction over several.

    :param place: as for :class:`Choosers`.
    :param options: further ones of :class:`sqlalchemy.orm.Session`.
    """
    return sessionmaker(class_=ShardedSession, **_arguments(shards, shards.engines, place), **options)


def async_sharded_sessions(
    shards: ShardMap[AsyncEngine], place: Place | None = None, **options: Any
) -> async_sessionmaker[AsyncSession]:
    """Return a maker of asynchronous sessions over all shards; otherwise as :func:`sharded_sessions`."""
    engines = {name: engine.sync_engine for name, engine in shards.engines.items()}
    return async_sessionmaker(sync_session_class=ShardedSession, **_arguments(shards, engines, place), **options)


def id_column_of(mapper: Mapper[Any]) -> ColumnElement[Any] | None:
    """Return the column of a mapper's primary key that holds our ids, None if there is none."""
    return next((column for column in mapper.primary_key if isinstance(column.type, ShardflakeId)), None)


def ids_of(clause: Any, parameters: Mapping[str, Any]) -> set[int] | None:
    """Return the ids that a condition limits rows to, None if it does not limit them.

    Reads ``==`` and ``IN`` on primary keys, below AND and OR; anything else counts as no limit, so that no row is missed.

    :param clause: of WHERE.
    :param parameters: values for parameters that the statement leaves open.
    """
    if isinstance(clause, Grouping):
        return ids_of(clause.element, parameters)
    if isinstance(clause, BooleanClauseList):
        parts = [ids_of(part, parameters) for part in clause.clauses]
        known = [part for part in parts if part is not None]
        if clause.operator is operators.and_:
            return set.intersection(*known) if known else None
        return set.union(*known) if known and len(known) == len(parts) else None
    if not isinstance(clause, BinaryExpression) or not _is_id(clause.left):
        return _ids_of_mirrored(clause, parameters)
    if clause.operator is operators.eq:
        return _integers([clause.right], parameters)
    if clause.operator is operators.in_op:
        right = clause.right.element if isinstance(clause.right, Grouping) else clause.right
        return _integers(right.clauses if isinstance(right, ClauseList) else [right], parameters)
    return None


def _ids_of_mirrored(clause: Any, parameters: Mapping[str, Any]) -> set[int] | None:
    """Read ``value == id``."""
    if isinstance(clause, BinaryExpression) and clause.operator is operators.eq and _is_id(clause.right):
        return _integers([clause.left], parameters)
    return None


def _is_id(column: ColumnElement[Any]) -> bool:
    return isinstance(column.type, ShardflakeId) and bool(getattr(column, "primary_key", False))


def _integers(values: Iterable[Any], parameters: Mapping[str, Any]) -> set[int] | None:
    """Return the values of parameters, None if one is not known or is no id."""
    found: set[int] = set()
    for value in values:
        if not isinstance(value, BindParameter):
            return None
        given = parameters.get(value.key, value.effective_value)
        for number in given if isinstance(given, (list, tuple, set, frozenset)) else [given]:
            if isinstance(number, bool) or not isinstance(number, int | str) or not str(number).isdecimal():
                return None
            found.add(int(number))
    return found


def _arguments(shards: ShardMap[Any], engines: Mapping[str, sa.Engine], place: Place | None) -> dict[str, Any]:
    choosers = Choosers(shards, place)
    return {
        "shards": dict(engines),
        "shard_chooser": choosers.shard_chooser,
        "identity_chooser": choosers.identity_chooser,
        "execute_chooser": choosers.execute_chooser,
    }
