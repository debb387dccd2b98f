"""From an id to its shard: one statement on one shard, and feeds over all of them."""

from __future__ import annotations

import gc
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from shardflake import install
from shardflake.errors import InvalidIdError, ShardflakeError
from shardflake.fleet.feed import async_feed, feed
from shardflake.fleet.file import parse, read
from shardflake.fleet.routing import ShardMap
from shardflake.fleet.sessions import async_sharded_sessions, ids_of, sharded_sessions
from shardflake.ids import make_id
from shardflake.sqlalchemy import ShardflakePK
from tests.fleet.conftest import TestFleet


class Base(DeclarativeBase):
    pass


class Customer(Base):
    __tablename__ = "customers"
    id: Mapped[ShardflakePK]
    name: Mapped[str]
    orders: Mapped[list[Order]] = relationship(back_populates="customer")


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[ShardflakePK]
    customer_id: Mapped[int | None] = mapped_column(sa.ForeignKey("customers.id"))
    total: Mapped[int]
    customer: Mapped[Customer | None] = relationship(back_populates="orders")


@pytest.fixture
def path(make_fleet: Callable[..., TestFleet], installed_template: str) -> Path:
    """The file of four shards with the tables."""
    fleet = make_fleet(4, installed_template)
    for number, engine in enumerate(fleet.engines):
        install.assign(engine, number)
        Base.metadata.create_all(engine)
    return fleet.path


@pytest.fixture
def shards(path: Path) -> Iterator[ShardMap[sa.Engine]]:
    """The map of the four shards."""
    made = ShardMap.of(read(path))
    yield made
    for engine in made.engines.values():
        engine.dispose()


@pytest.fixture
def touched(shards: ShardMap[sa.Engine]) -> Counter[str]:
    """Counts the statements that reach each shard."""
    count: Counter[str] = Counter()
    for name, engine in shards.engines.items():

        def note(*arguments: Any, name: str = name) -> None:
            count[name] += 1

        sa.event.listen(engine, "before_cursor_execute", note)
    return count


def test_an_id_leads_to_its_database() -> None:
    fleet = parse("""
        [[shard]]
        name = "a"
        url = "host=a"
        shard_id = 5
        logical_shards = ["100-199"]
        [[shard]]
        name = "b"
        url = "host=b"
        shard_id = 6
    """)
    shards = ShardMap.of(fleet)
    when = datetime(2026, 1, 1, tzinfo=UTC)
    assert [shards.name(make_id(when, number, 1023)) for number in (5, 100, 199, 6)] == ["a", "a", "a", "b"]
    assert shards.engine(make_id(when, 6)) is shards.engines["b"]
    assert (list(shards), len(shards)) == (["a", "b"], 2)
    with pytest.raises(InvalidIdError, match="is of shard 7, the map has the shards 5-6, 100-199"):
        shards.name(make_id(when, 7))
    for wrong in (-1, 1 << 63, True, 1.0, "x", None):
        with pytest.raises(InvalidIdError):
            shards.name(wrong)  # type: ignore[arg-type]
    shards.move(100, "b")
    assert shards.name(make_id(when, 100)) == "b"
    with pytest.raises(ShardflakeError, match="'c' has no engine"):
        shards.move(100, "c")
    with pytest.raises(ShardflakeError, match="which has no engine"):
        ShardMap({"a": sa.create_engine("postgresql+psycopg://")}, {1: "c"})
    with pytest.raises(ShardflakeError, match="no shard_id"):
        ShardMap.of(parse('[[shard]]\nname = "a"\nurl = "host=a"'))


def test_a_lookup_by_id_is_one_statement_on_one_shard(shards: ShardMap[sa.Engine], touched: Counter[str]) -> None:
    sessions = sharded_sessions(shards)
    with sessions() as session:
        session.add_all(Order(total=number) for number in range(8))
        session.commit()
        ids = {order.total: order.id for order in session.scalars(sa.select(Order))}
    assert Counter(shards.name(number) for number in ids.values()) == {"s0": 2, "s1": 2, "s2": 2, "s3": 2}
    lookups: list[Callable[[Any, int], Any]] = [
        lambda session, number: session.get(Order, number),
        lambda session, number: session.scalars(sa.select(Order).where(Order.id == number)).one(),
        lambda session, number: session.scalars(sa.select(Order).where(Order.id.in_([number]))).one(),
        lambda session, number: session.scalars(sa.select(Order).where(Order.total >= 0, sa.literal(number) == Order.id)).one(),
        lambda session, number: session.scalars(sa.select(Order).where(Order.id == sa.bindparam("n")), {"n": number}).one(),
        lambda session, number: session.query(Order).filter_by(id=str(number)).one(),
    ]
    for lookup, (total, number) in itertools.product(lookups, ids.items()):
        with sessions() as session:
            touched.clear()
            assert lookup(session, number).total == total
            assert touched == {shards.name(number): 1}
    with sessions() as session:
        touched.clear()
        chosen = [number for number in ids.values() if shards.name(number) in ("s0", "s2")]
        assert len(session.scalars(sa.select(Order).where(Order.id.in_(chosen))).all()) == 4
        assert touched == {"s0": 1, "s2": 1}
        touched.clear()
        assert len(session.scalars(sa.select(Order).where(Order.total >= 4)).all()) == 4
        assert touched == {"s0": 1, "s1": 1, "s2": 1, "s3": 1}
        touched.clear()
        assert session.scalars(sa.select(Order).where(Order.id.in_([]))).all() == []
        assert sum(touched.values()) == 1


def test_changes_go_to_the_row_s_shard(shards: ShardMap[sa.Engine], touched: Counter[str]) -> None:
    sessions = sharded_sessions(shards)
    with sessions() as session:
        session.add_all(Order(total=number) for number in range(4))
        session.commit()
        order = session.scalars(sa.select(Order).where(Order.total == 2)).one()
        touched.clear()
        order.total = 20
        session.commit()
        session.refresh(order)
        assert touched == {shards.name(order.id): 2}
        touched.clear()
        session.execute(sa.update(Order).where(Order.id == order.id).values(total=21))
        session.execute(sa.delete(Order).where(Order.id == order.id))
        session.commit()
        assert set(touched) == {shards.name(order.id)}
        assert sorted(session.scalars(sa.select(Order.total))) == [0, 1, 3]


def test_rows_are_kept_with_their_parent(shards: ShardMap[sa.Engine], touched: Counter[str]) -> None:
    turns = itertools.cycle(shards)

    def place(instance: Any) -> str:
        parent = instance.customer_id if isinstance(instance, Order) else None
        return shards.name(parent) if parent is not None else next(turns)

    sessions = sharded_sessions(shards, place)
    with sessions() as session:
        customers = [Customer(name=str(number)) for number in range(4)]
        session.add_all(customers)
        session.flush()
        session.add_all(Order(total=1, customer_id=customer.id) for customer in customers for _ in range(3))
        session.commit()
        known = [(customer.id, customer.name, [order.id for order in customer.orders]) for customer in customers]
        for customer_id, name, order_ids in known:
            home = shards.name(customer_id)
            assert [shards.name(number) for number in order_ids] == [home] * 3
            session.expunge_all()
            touched.clear()
            order = session.get(Order, order_ids[0])
            assert order is not None
            assert order.customer is not None
            assert order.customer.name == name
            assert touched == {home: 2}


NUMBER = make_id(datetime(2026, 1, 1, tzinfo=UTC), 1)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Order.id == NUMBER, {NUMBER}),
        (Order.id.in_([1, 2]), {1, 2}),
        (Order.id.in_(sa.select(Customer.id)), None),
        (sa.or_(Order.id == 1, Order.id == 2), {1, 2}),
        (sa.or_(Order.id == 1, Order.total == 2), None),
        (sa.and_(Order.id.in_([1, 2]), sa.or_(Order.id == 2, Order.id == 3)), {2}),
        (sa.and_(Order.total == 2, Order.customer_id == 3), None),
        (Order.customer_id == 3, None),
        (sa.not_(Order.id == 1), None),
        (Order.id != 1, None),
        (Order.id > 1, None),
        (Order.id.not_in([1]), None),
        (Order.id.is_(None), None),
        (Order.id == Order.customer_id, None),
        (Order.id + 1 == 2, None),
        (Order.id == sa.bindparam("open"), {9}),
        (Order.id == sa.bindparam("unknown"), None),
        (sa.true(), None),
        (None, None),
    ],
)
def test_which_ids_a_condition_names(condition: Any, expected: set[int] | None) -> None:
    assert ids_of(condition, {"open": 9}) == expected


async def test_the_asynchronous_session_and_feed(path: Path) -> None:
    shards = ShardMap.of_async(read(path))
    async with async_sharded_sessions(shards, expire_on_commit=False)() as session:
        orders = [Order(total=number) for number in range(8)]
        session.add_all(orders)
        await session.commit()
        count: Counter[str] = Counter()
        for name, engine in shards.engines.items():

            def note(*arguments: Any, name: str = name) -> None:
                count[name] += 1

            sa.event.listen(engine.sync_engine, "before_cursor_execute", note)
        session.expunge_all()
        found = await session.get(Order, orders[3].id)
        assert found is not None
        assert found.total == 3
        assert count == {shards.name(orders[3].id): 1}
    ids = [row.id async for row in async_feed(shards, sa.select(Order.id), Order.id, page=1)]
    assert ids == sorted(order.id for order in orders)
    newest = [row.id async for row in async_feed(shards, sa.select(Order.id), Order.id, page=3, newest_first=True)]
    assert newest == ids[::-1]
    for each in shards.engines.values():
        await each.dispose()


def fill(shards: ShardMap[sa.Engine], rows: int) -> list[int]:
    ids: list[int] = []
    for _ in range(rows // 40):
        for engine in shards.engines.values():
            with engine.begin() as connection:
                ids += connection.scalars(
                    sa.text("insert into orders (total) select n from generate_series(1, 10) n returning id")
                ).all()
    return ids


@pytest.mark.parametrize("page", [1, 7, 100, 1000])
def test_a_feed_gives_every_row_once_in_the_order_of_time(shards: ShardMap[sa.Engine], page: int) -> None:
    ids = sorted(fill(shards, 400))
    statement = sa.select(Order.total, Order.id)
    assert [row.id for row in feed(shards, statement, Order.id, page=page)] == ids
    assert [row.id for row in feed(shards, statement, Order.id, page=page, newest_first=True)] == ids[::-1]
    bounded = feed(shards, statement.where(Order.total > 5), Order.id, after=ids[99], before=ids[300], page=page)
    assert all(row.total > 5 and ids[99] < row.id < ids[300] for row in bounded)
    first = list(itertools.islice(feed(shards, statement, Order.id, page=page), 150))
    rest = list(feed(shards, statement, Order.id, page=page, after=first[-1].id))
    assert [row.id for row in first + rest] == ids


def test_a_feed_holds_one_page_of_each_shard(shards: ShardMap[sa.Engine], touched: Counter[str]) -> None:
    fill(shards, 2000)
    touched.clear()
    most = 0
    for count, row in enumerate(feed(shards, sa.select(Order.id), Order.id, page=20)):
        if count % 37 == 0:
            alive = sum(1 for item in gc.get_objects() if type(item) is type(row))
            most = max(most, alive)
    assert 0 < most <= 4 * 20 + 4
    assert set(touched.values()) == {26}


def test_a_feed_needs_its_id(shards: ShardMap[sa.Engine]) -> None:
    with pytest.raises(ShardflakeError, match=r"does not select"):
        feed(shards, sa.select(Order.total), Order.id)
    with pytest.raises(ShardflakeError, match="a page of 0 rows"):
        feed(shards, sa.select(Order.id), Order.id, page=0)


def test_routing_takes_microseconds() -> None:
    engine = sa.create_engine("postgresql+psycopg://")
    shards = ShardMap({"a": engine}, dict.fromkeys(range(8192), "a"))
    number = make_id(datetime(2026, 1, 1, tzinfo=UTC), 4000)
    best = timedelta.max
    for _ in range(5):
        start = datetime.now(UTC)
        for _ in range(2000):
            shards.engine(number)
        best = min(best, (datetime.now(UTC) - start) / 2000)
    assert best < timedelta(microseconds=5)
