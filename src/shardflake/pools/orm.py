"""SQLAlchemy columns whose ids come from a pool: known before the flush, and no hindrance to inserting in batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.orm import Mapper
from sqlalchemy.util import await_only

from shardflake.pools.aio import AsyncIdPool
from shardflake.pools.threaded import IdPool
from shardflake.sqlalchemy import ShardflakeId

AnyPool = IdPool | AsyncIdPool


def pool_default(pool: AnyPool | Callable[[], AnyPool]) -> Callable[[], int]:
    """Return a column's ``default=`` that draws from a pool when a row is inserted without an id.

    :param pool: a pool, or a function that returns it, for models that are defined before there is an engine. An
        :class:`AsyncIdPool` draws within the statements of an ``AsyncSession`` or ``AsyncConnection``.
    """

    def draw() -> int:
        source = pool if isinstance(pool, IdPool | AsyncIdPool) else pool()
        return source.next_id() if isinstance(source, IdPool) else await_only(source.next_id())

    return draw


def pool_column(pool: AnyPool | Callable[[], AnyPool], name: str = "id", **options: Any) -> sa.Column[int]:
    """Return a primary-key column whose ids come from a pool.

    :param pool: as for :func:`pool_default`.
    :param name: the column's name.
    :param options: further arguments of :class:`sqlalchemy.Column`, except ``default``.
    """
    return sa.Column(name, ShardflakeId(), default=pool_default(pool), **{"primary_key": True, **options})


def draw_on_construction(base: Any, pool: IdPool | Callable[[], IdPool]) -> None:
    """Give every new object of a model, or of all models of a base, its id at once: ``Order().id`` is there before the flush.

    An id that is passed to the constructor stays. Models whose primary key is not one :class:`ShardflakeId` column, or is a
    foreign key, are left alone.

    :param base: a mapped class, or a declarative base whose subclasses, present and future, are meant.
    :param pool: a pool for threads, or a function that returns it: a constructor cannot await.
    """

    def construct(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        mapper: Mapper[Any] = sa.inspect(type(target))
        if (key := _drawn_key(mapper)) is not None and kwargs.get(key) is None:
            value = (pool if isinstance(pool, IdPool) else pool()).next_id()
            kwargs.pop(key, None)
            setattr(target, key, value)

    event.listen(base, "init", construct, propagate=True)


def _drawn_key(mapper: Mapper[Any]) -> str | None:
    """Return the attribute of the key that is to be drawn, or None."""
    columns = mapper.primary_key
    if len(columns) != 1 or not isinstance(columns[0].type, ShardflakeId) or columns[0].foreign_keys:
        return None
    return mapper.get_property_by_column(columns[0]).key


def insert_in_batches(engine: sa.Engine) -> None:
    """Let an engine write rows whose values are all known as multi-row INSERTs too, a thousand rows a statement.

    SQLAlchemy does this by itself for rows that bring something back, such as another column's server default; the others
    it hands to the driver's ``executemany()``, which sends every row on its own.

    :param engine: for an asynchronous one, its ``sync_engine``.
    """
    engine.dialect.use_insertmanyvalues_wo_returning = True
