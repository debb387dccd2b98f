"""A SQLAlchemy column type for ids, and columns that draw them from the database.

::

    class Order(Base):
        __tablename__ = "orders"
        id: Mapped[ShardflakePK]
        customer_id: Mapped[int] = mapped_column(ForeignKey("customers.id"))  # bigint, as the key it refers to

    session.scalars(select(Order).where(Order.id.between_times(yesterday, today)))

PostgreSQL only. On SQLAlchemy 2.1 the default is marked monotonic, so that ``add_all()`` inserts in batches and still gives
every object its own row's key; 2.0 inserts row by row.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import sqlalchemy as sa
from sqlalchemy import event, types
from sqlalchemy.exc import ArgumentError
from sqlalchemy.orm import Mapped, QueryableAttribute, mapped_column
from sqlalchemy.sql import operators
from sqlalchemy.sql.expression import ColumnElement

from shardflake.errors import InstallationError, InvalidIdError, UnsupportedServerError
from shardflake.layout import SHARDFLAKE, Layout

__all__ = ["ShardflakeId", "ShardflakeMixin", "ShardflakePK", "id_column", "next_id"]

_MONOTONIC: dict[str, Any] = {"monotonic": True} if hasattr(sa.func.now(), "monotonic") else {}  # SQLAlchemy 2.1
_BIGINT_MIN, _BIGINT_MAX = -(2**63), 2**63 - 1


class ShardflakeId(types.TypeDecorator[int]):
    """A bigint that holds ids, ``int`` in Python.

    Binds take an ``int`` or a ``str`` of decimal digits (as ids travel in JSON) within 64 bits; floats, bools and everything
    else raise ``TypeError`` or ``ValueError``. Columns gain ``timestamp``, ``shard``, ``counter`` and ``between_times()``.
    """

    impl = types.BigInteger
    cache_ok = True

    def __init__(self, layout: Layout = SHARDFLAKE) -> None:
        """Make a type for ids of a layout, that of the database: ``ShardflakeId(layout=TWITTER)``."""
        super().__init__()
        self.layout = layout

    @property
    def python_type(self) -> type[int]:
        """``int``, for tools that ask."""
        return int

    def load_dialect_impl(self, dialect: sa.Dialect) -> types.TypeEngine[Any]:
        """Return the type that holds the ids.

        :raises UnsupportedServerError: for a database other than PostgreSQL; printing a statement without one is fine.
        """
        if dialect.name not in ("postgresql", "default"):
            raise UnsupportedServerError(
                f"ShardflakeId needs PostgreSQL, where its ids are made, not {dialect.name}; "
                "run tests of these tables on a PostgreSQL server as well"
            )
        return self.impl_instance

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> int | None:
        """Return the value as an ``int`` that fits a bigint."""
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise TypeError(f"an id is an int or its decimal digits, not {value!r} of type {type(value).__name__}")
        if isinstance(value, str) and not (value.isascii() and value.removeprefix("-").isdecimal()):
            raise ValueError(f"{value!r} is not the decimal digits of an id")
        number = int(value) if not isinstance(value, str) or len(value) <= 20 else _BIGINT_MAX + 1
        if not _BIGINT_MIN <= number <= _BIGINT_MAX:
            raise ValueError(f"{value} does not fit a bigint: {_BIGINT_MIN} to {_BIGINT_MAX}")
        return number

    def coerce_compared_value(self, op: Any, value: Any) -> types.TypeEngine[Any]:
        """Treat the other side as an id, except the distance of a shift, which PostgreSQL wants as an integer."""
        if op in (operators.bitwise_lshift_op, operators.bitwise_rshift_op):
            return types.Integer()
        return self

    class Comparator(types.TypeDecorator.Comparator[int]):
        """Operations of id columns, rendered as expressions that PostgreSQL can use indexes for."""

        def __rshift__(self, other: Any) -> ColumnElement[int]:
            """Shift right in SQL; SQLAlchemy leaves ``>>`` to the types."""
            return self.expr.bitwise_rshift(other)

        def __lshift__(self, other: Any) -> ColumnElement[int]:
            """Shift left in SQL."""
            return self.expr.bitwise_lshift(other)

        @property
        def timestamp(self) -> ColumnElement[datetime]:
            """When the id was drawn, to the millisecond; SQL of ``shardflake.timestamp_of()``."""
            return sa.func.shardflake.timestamp_of(self.expr, type_=types.DateTime(timezone=True))

        @property
        def shard(self) -> ColumnElement[int]:
            """Shard id in the id, 0 to 8191; SQL of ``shardflake.shard_of()``."""
            return sa.func.shardflake.shard_of(self.expr, type_=types.Integer())

        @property
        def counter(self) -> ColumnElement[int]:
            """Counter in the id, 0 to 1023; SQL of ``shardflake.counter_of()``."""
            return sa.func.shardflake.counter_of(self.expr, type_=types.Integer())

        def between_times(
            self, start: datetime | ColumnElement[datetime], end: datetime | ColumnElement[datetime]
        ) -> ColumnElement[bool]:
            """Return the condition that an id was drawn at ``start`` or later, and before ``end``.

            A range on the bare column, so that its index is used.

            :param start: an aware datetime or a SQL expression of timestamptz, inclusive to the millisecond.
            :param end: likewise, exclusive.
            :raises InvalidIdError: for naive datetimes, times that ids cannot hold, or an end before the start.
            :raises TypeError: for anything else; a date or a text would mean the session's time zone.
            """
            layout = self.type.layout if isinstance(self.type, ShardflakeId) else SHARDFLAKE
            low, high = _bound(start, layout), _bound(end, layout)
            if isinstance(start, datetime) and isinstance(end, datetime) and layout.tick_of(end) < layout.tick_of(start):
                # the server cannot refuse it
                raise InvalidIdError(f"the range ends at {end.isoformat()}, before it starts at {start.isoformat()}")
            return sa.and_(self.expr >= low, self.expr < high)

    comparator_factory = Comparator


def _bound(time: datetime | ColumnElement[datetime], layout: Layout) -> ColumnElement[int]:
    if isinstance(time, datetime):
        return sa.literal(layout.tick_of(time) << layout.shifts["time"], ShardflakeId(layout))
    if not isinstance(time, sa.ClauseElement | QueryableAttribute):
        raise TypeError(f"{time!r} is a {type(time).__name__}; give an aware datetime or a SQL expression of timestamptz")
    return sa.func.shardflake.min_id(time, type_=ShardflakeId(layout))


@event.listens_for(ShardflakeId, "after_parent_attach")
def _attach(type_: ShardflakeId, column: sa.Column[int]) -> None:
    """Keep SQLAlchemy from making a primary key of this type BIGSERIAL, and check its table before it is created."""
    if column.autoincrement is True:
        raise ArgumentError("a ShardflakeId column cannot have autoincrement=True; give it server_default=next_id()")
    column.autoincrement = False
    event.listen(column, "before_parent_attach", _attach_column)


def _attach_column(column: sa.Column[int], table: sa.Table) -> None:
    """Let rows of a composite key be inserted in batches too, and check the database before the table is created."""
    if column.primary_key and getattr(_default(column), "monotonic", False):
        # what insert_sentinel=True does; SQLAlchemy 2.1 loses that argument in an Annotated column, and without it fails an
        # assertion for a composite key
        column._insert_sentinel = True
    event.listen(table, "before_create", _require_generator)


def _default(column: sa.Column[Any]) -> Any:
    return getattr(column.server_default, "arg", None)


def _require_generator(table: sa.Table, connection: Any, **options: Any) -> None:
    """Say what to do if a table is created before the generator that its columns call."""
    if not isinstance(connection, sa.Connection) or connection.dialect.name != "postgresql":
        return  # an offline script, or a database that the type itself refuses
    if not any(getattr(_default(column), "packagenames", None) == ("shardflake",) for column in table.columns):
        return
    if connection.scalar(sa.text("select to_regprocedure('shardflake.next_id()')")) is None:
        raise InstallationError(
            f"table {table.fullname} draws its ids from shardflake, which is not installed in this database; "
            "run: shardflake db upgrade"
        )


def next_id(shard: int | None = None, *, layout: Layout = SHARDFLAKE) -> sa.Function[int]:
    """Return ``shardflake.next_id()``, to be used as a ``server_default``.

    :param shard: a logical shard that the database owns; without it, the database's own.
    :param layout: that of the database.
    :raises ValueError: for a shard that the layout cannot hold: not 0 to 8191, in the default one.
    """
    if shard is None:
        arguments: list[ColumnElement[int]] = []
    else:
        if not 0 <= shard < layout.shards:
            raise ValueError(f"shard {shard} is not 0 to {layout.shards - 1}")
        arguments = [sa.literal_column(str(int(shard)), types.Integer())]
    return sa.Function("next_id", *arguments, packagenames=("shardflake",), type_=ShardflakeId(layout), **_MONOTONIC)


def id_column(name: str = "id", *, shard: int | None = None, layout: Layout = SHARDFLAKE, **options: Any) -> sa.Column[int]:
    """Return a primary-key column that draws its ids from the database; one cannot forget the default.

    :param name: the column's name.
    :param shard: a logical shard, as for :func:`next_id`.
    :param layout: that of the database.
    :param options: further arguments of :class:`sqlalchemy.Column`, except ``server_default``.
    """
    default = next_id(shard, layout=layout)
    return sa.Column(name, ShardflakeId(layout), server_default=default, **{"primary_key": True, **options})


ShardflakePK = Annotated[int, mapped_column(ShardflakeId(), primary_key=True, server_default=next_id())]
"""Annotation of a mapped primary key, or a part of one, that draws its ids from the database: ``id: Mapped[ShardflakePK]``.

In a dataclass: ``id: Mapped[ShardflakePK] = mapped_column(init=False)``.
"""


class ShardflakeMixin:
    """Gives a mapped class the primary key ``id``, drawn from the database."""

    id: Mapped[ShardflakePK] = mapped_column(sort_order=-1)
