"""Models whose ids come from a pool: statements counted, keys known before the flush; COPY with ids filled in here."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

from shardflake.pools import (
    AsyncIdPool,
    IdPool,
    copy_rows,
    draw_on_construction,
    insert_in_batches,
    pool_column,
    pool_default,
)
from shardflake.sqlalchemy import ShardflakeId, ShardflakeMixin
from tests.conftest import dsn
from tests.orm.conftest import SQLALCHEMY_21, listening
from tests.pools.test_pools import engine_on

ORDERS, LINES = 1000, 9


@pytest.fixture
def engine(shard: sa.Engine) -> Iterator[sa.Engine]:
    with engine_on(shard) as made:
        yield made


def models(pool: IdPool | AsyncIdPool, *, constructed: bool) -> tuple[Any, Any, Any]:
    """Return a base, and orders with lines; the orders have another server default, the lines none."""

    class Base(DeclarativeBase):
        pass

    class Order(Base):
        __tablename__ = "orders"
        id: Mapped[int] = mapped_column(ShardflakeId(), primary_key=True, default=pool_default(lambda: pool))
        number: Mapped[int]
        placed_at: Mapped[datetime] = mapped_column(server_default=sa.func.now())
        lines: Mapped[list[Any]] = relationship("Line", back_populates="order")

    class Line(Base):
        __tablename__ = "lines"
        id: Mapped[int] = mapped_column(ShardflakeId(), primary_key=True, default=pool_default(pool))
        order_id: Mapped[int] = mapped_column(sa.ForeignKey("orders.id"))
        number: Mapped[int]
        order: Mapped[Any] = relationship("Order", back_populates="lines")

    if constructed:
        assert isinstance(pool, IdPool)
        draw_on_construction(Base, lambda: pool)
    return Base, Order, Line


def graph(order: Any, line: Any) -> list[Any]:
    """Return new orders with their lines, ten thousand objects in all; a line's number tells where it belongs."""
    return [
        order(number=number, lines=[line(number=number * LINES + index) for index in range(LINES)]) for number in range(ORDERS)
    ]


def check_rows(engine: sa.Engine, orders: list[Any]) -> None:
    """Fail unless every object holds the key of its own row, and every line that of its own order."""
    with engine.connect() as connection:
        stored = {row.number: row.id for row in connection.execute(sa.text("select id, number from orders"))}
        lines = {row.number: row for row in connection.execute(sa.text("select id, order_id, number from lines"))}
    assert len(lines) == ORDERS * LINES
    for order in orders:
        assert stored[order.number] == order.id
        for line in order.lines:
            assert (lines[line.number].id, lines[line.number].order_id) == (line.id, order.id)


@pytest.mark.parametrize("constructed", [False, True], ids=["at the flush", "at construction"])
@pytest.mark.parametrize("batches", [False, True], ids=["executemany", "batches"])
def test_ten_thousand_related_objects_flush_in_eleven_statements(engine: sa.Engine, constructed: bool, batches: bool) -> None:
    if batches:
        insert_in_batches(engine)
    pool = IdPool(engine, block=20_000, max_age=60)
    base, order, line = models(pool, constructed=constructed)
    base.metadata.create_all(engine)
    with Session(engine, expire_on_commit=False) as session, listening(engine) as inserts:
        orders = graph(order, line)
        if constructed:
            assert None not in {orders[0].id, orders[0].lines[0].id}
        session.add_all(orders)
        session.commit()
        check_rows(engine, orders)
    assert len(inserts) <= 11
    assert pool.metrics.leases <= 2
    if batches:
        assert all("VALUES (%(" in text and text.count("(%(") > 100 for text in inserts)


def test_server_defaults_take_a_statement_a_row_on_2_0(engine: sa.Engine) -> None:
    """The control: what the pool saves."""

    class Base(DeclarativeBase):
        pass

    class Order(ShardflakeMixin, Base):
        __tablename__ = "orders"
        number: Mapped[int]

    Base.metadata.create_all(engine)
    with Session(engine) as session, listening(engine) as inserts:
        session.add_all([Order(number=number) for number in range(ORDERS)])
        session.flush()
        assert len(inserts) == (1 if SQLALCHEMY_21 else ORDERS)


def test_an_id_that_is_given_stays(engine: sa.Engine) -> None:
    pool = IdPool(engine, block=10)
    _, order, line = models(pool, constructed=True)
    assert order(id=12, number=1).id == 12
    made = order(id=None, number=2, lines=[line(number=3)])
    assert made.id is not None
    assert made.id > made.lines[0].id  # the line was made first


def test_a_core_column_draws_from_the_pool(engine: sa.Engine) -> None:
    metadata = sa.MetaData()
    pool = IdPool(engine, block=1000)
    table = sa.Table("events", metadata, pool_column(pool), sa.Column("n", sa.Integer))
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(table.insert(), [{"n": n} for n in range(1000)])
        key = connection.execute(table.insert().values(n=1000)).inserted_primary_key
        rows = connection.execute(sa.select(table.c.id, table.c.n).order_by(table.c.id)).all()
    assert [row.n for row in rows] == list(range(1001))
    assert key is not None
    assert rows[-1].id == key[0]


async def test_an_asynchronous_session_draws_from_a_pool_of_tasks(shard: sa.Engine, async_engine: AsyncEngine) -> None:
    pool = AsyncIdPool(async_engine, block=20_000, max_age=60)
    base, order, line = models(pool, constructed=False)
    async with async_engine.begin() as connection:
        await connection.run_sync(base.metadata.create_all)
    async with AsyncSession(async_engine, expire_on_commit=False) as session:
        with listening(async_engine.sync_engine) as inserts:
            orders = graph(order, line)
            session.add_all(orders)
            await session.commit()
    check_rows(shard, orders)
    assert len(inserts) <= 11
    await pool.close()


def test_copy_fills_ids_in_the_order_of_the_rows(engine: sa.Engine) -> None:
    pool = IdPool(engine, block=1000)
    with psycopg.connect(dsn(engine)) as connection:
        connection.execute('create table "Orders" (id bigint primary key, n integer, "a name" text)')
        rows = ((number, f"text\t{number}\\") for number in range(2500))
        assert copy_rows(connection, ("public", "Orders"), ("n", "a name"), rows, pool) == 2500
        found = connection.execute('select n, "a name" from "Orders" order by id').fetchall()
    assert found == [(number, f"text\t{number}\\") for number in range(2500)]
