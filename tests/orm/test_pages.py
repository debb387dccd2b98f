"""Pages by id: the rows, their order, and the plans."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from sqlalchemy.orm import DeclarativeBase, Mapped, Session

from shardflake.errors import InvalidIdError
from shardflake.ids import make_id, min_id
from shardflake.pages import page
from shardflake.sqlalchemy import ShardflakePK

START = datetime(2026, 7, 6, 8, 30, tzinfo=UTC)


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[ShardflakePK]
    item: Mapped[str]


TABLE = Order.__table__
IDS = [make_id(START + timedelta(seconds=number), 5, number) for number in range(20)]


@pytest.fixture
def orders(shard: sa.Engine) -> sa.Engine:
    Base.metadata.create_all(shard)
    with shard.begin() as connection:
        connection.execute(sa.insert(Order), [{"id": id_, "item": ("even", "odd")[n % 2]} for n, id_ in enumerate(IDS)])
    return shard


CASES: list[tuple[dict[str, Any], list[int]]] = [
    ({}, IDS[:4]),
    ({"after": IDS[3]}, IDS[4:8]),
    ({"after": str(IDS[17])}, IDS[18:]),
    ({"after": IDS[19]}, []),
    ({"before": IDS[10]}, IDS[6:10]),
    ({"before": IDS[2]}, IDS[:2]),
    ({"before": IDS[0]}, []),
    ({"after": IDS[3], "before": IDS[6]}, IDS[4:6]),
    ({"after": IDS[3], "before": IDS[15]}, IDS[4:8]),
    ({"newest_first": True}, IDS[:15:-1]),
    ({"newest_first": True, "before": IDS[10]}, IDS[9:5:-1]),
    ({"newest_first": True, "after": IDS[10]}, IDS[14:10:-1]),
    ({"newest_first": True, "after": IDS[3], "before": IDS[15]}, IDS[14:10:-1]),
]


@pytest.mark.parametrize(("options", "expected"), CASES)
def test_pages_of_core_and_the_orm(orders: sa.Engine, options: dict[str, Any], expected: list[int]) -> None:
    with Session(orders) as session:
        assert [order.id for order in session.scalars(page(sa.select(Order), Order.id, limit=4, **options))] == expected
        core = page(sa.select(TABLE.c.item, TABLE.c.id), TABLE.c.id, limit=4, **options)
        assert [row.id for row in session.execute(core)] == expected


async def test_pages_of_asynchronous_sessions(orders: sa.Engine, async_engine: AsyncEngine) -> None:
    async with AsyncSession(async_engine) as session:
        found = await session.scalars(page(sa.select(Order), Order.id, before=IDS[10], limit=4))
        assert [order.id for order in found] == IDS[6:10]


@pytest.mark.parametrize("newest_first", [False, True])
def test_walking_there_and_back_meets_every_row_once(orders: sa.Engine, newest_first: bool) -> None:
    odd = sa.select(Order.id).where(Order.item == "odd")
    shown = IDS[1::2][::-1] if newest_first else IDS[1::2]
    onwards, back = ("before", "after") if newest_first else ("after", "before")
    with Session(orders) as session:
        for direction, expected in ((onwards, shown), (back, shown[:-1])):
            met: list[int] = []
            position = None if direction == onwards else shown[-1]
            while rows := list(
                session.scalars(page(odd, Order.id, limit=3, newest_first=newest_first, **{direction: position}))
            ):
                met = [*met, *rows] if direction == onwards else [*rows, *met]
                position = rows[-1] if direction == onwards else rows[0]
            assert met == expected


@pytest.mark.parametrize(("options", "message"), [({"limit": 0}, "limit 0"), ({"limit": 1, "after": -1}, "-1 is not an id")])
def test_bad_pages_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidIdError, match=message):
        page(sa.select(Order), Order.id, **options)


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for child in plan.get("Plans", []) for node in nodes(child))]


def explain(connection: sa.Connection, statement: sa.Select[Any]) -> list[dict[str, Any]]:
    """Run a statement, and return the nodes of its plan with the rows that each met."""
    text = str(statement.compile(connection, compile_kwargs={"literal_binds": True})).replace(":", r"\:")
    plan = connection.scalar(sa.text("explain (analyze, format json) " + text))
    assert plan is not None
    return nodes(plan[0]["Plan"])


@pytest.fixture
def many(shard: sa.Engine) -> sa.Engine:
    """A table of 20,000 rows, a second apart."""
    Base.metadata.create_all(shard)
    with shard.begin() as connection:
        connection.execute(
            sa.text(
                "insert into orders select shardflake.make_id(cast(:start as timestamptz) + n * interval '1 s', 5, 0), 'x' "
                "from generate_series(0, 19999) n"
            ),
            {"start": START},
        )
    with shard.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text("vacuum analyze orders"))
    return shard


@pytest.mark.parametrize("options", [options for options, _ in CASES])
def test_pages_are_read_from_the_index_without_a_sort(many: sa.Engine, options: dict[str, Any]) -> None:
    with many.connect() as connection:
        plan = explain(connection, page(sa.select(Order), Order.id, limit=50, **options))
        assert not any("Sort" in node["Node Type"] or node["Node Type"] == "Seq Scan" for node in plan)
        scans = [node for node in plan if "Index" in node["Node Type"]]
        assert scans
        assert all(node["Actual Rows"] <= 50 for node in scans)
        by_offset = explain(connection, sa.select(Order).order_by(Order.id).offset(10000).limit(50))
        assert any(node["Actual Rows"] > 10000 for node in by_offset)  # what the rows of a deep page cost otherwise


@pytest.mark.parametrize(
    "condition",
    [
        Order.id.between_times(START + timedelta(hours=1), START + timedelta(hours=1, minutes=1)),
        Order.id.between_times(sa.literal(START + timedelta(hours=1)), sa.literal(START + timedelta(hours=1, minutes=1))),
        (Order.id >= min_id(START + timedelta(hours=1))) & (Order.id < min_id(START + timedelta(hours=1, minutes=1))),
        sa.text("id >= shardflake.min_id('2026-07-06 09:30+00') and id < shardflake.min_id('2026-07-06 09:31+00')"),
    ],
    ids=["between_times", "between_times of SQL", "min_id of Python", "min_id of SQL"],
)
def test_time_bounds_use_the_index(many: sa.Engine, condition: Any) -> None:
    with many.connect() as connection:
        plan = explain(connection, sa.select(Order).where(condition))
        [scan] = [node for node in plan if "Scan" in node["Node Type"] and "Bitmap Heap" not in node["Node Type"]]
        assert "Index" in scan["Node Type"]
        assert scan["Actual Rows"] == 60
        of_function = explain(connection, sa.select(Order).where(Order.id.timestamp < START + timedelta(minutes=1)))
        assert any(node["Node Type"] == "Seq Scan" for node in of_function)  # the control: a condition on the time itself
