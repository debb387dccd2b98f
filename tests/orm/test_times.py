"""The parts of an id in queries, and ranges of time that use the primary key's index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, aliased, mapped_column

import shardflake
from shardflake import InvalidIdError
from shardflake.sqlalchemy import ShardflakePK

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Base(DeclarativeBase):
    pass


class Event(Base):
    __tablename__ = "events"
    id: Mapped[ShardflakePK]
    happened: Mapped[datetime] = mapped_column(sa.DateTime(timezone=True))


@pytest.fixture
def events(shard: sa.Engine) -> Iterator[Session]:
    """A table of 2,000 events, one a minute since START, with ids of their time."""
    Base.metadata.create_all(shard)
    with Session(shard) as session:
        times = [START + timedelta(minutes=number) for number in range(2_000)]
        session.execute(
            sa.insert(Event),
            [{"id": shardflake.make_id(time, number % 3, number % 7), "happened": time} for number, time in enumerate(times)],
        )
        session.commit()
        session.execute(sa.text("analyze events"))
        yield session


def test_parts_of_an_id_in_select_where_and_order_by(events: Session) -> None:
    rows = events.execute(
        sa.select(Event, Event.id.timestamp, Event.id.shard, Event.id.counter)
        .where(Event.id.shard == 2, Event.id.counter.in_([1, 4]), Event.id.timestamp < START + 10 * HOUR)
        .order_by(Event.id.timestamp.desc())
    ).all()
    assert rows
    for event, timestamp, shard, counter in rows:
        decoded = shardflake.decode(event.id)
        assert (timestamp, shard, counter) == (event.happened, 2, decoded.counter) == (decoded.time, decoded.shard, counter)
        assert counter in (1, 4)
    assert [row[1] for row in rows] == sorted((row[1] for row in rows), reverse=True)


def test_parts_of_an_aliased_or_core_column(events: Session) -> None:
    other = aliased(Event)
    pairs = (
        sa.select(sa.func.count())
        .select_from(Event)
        .join(other, sa.and_(other.id.shard == Event.id.shard, other.id.timestamp == Event.id.timestamp))
        .where(other.id.between_times(START, START + HOUR))
    )
    assert events.scalar(pairs) == 60
    column = Event.__table__.c.id
    assert events.scalar(sa.select(sa.func.max(column.timestamp))) == START + timedelta(minutes=1_999)
    label = sa.select(Event.id.label("key")).subquery().c.key
    assert events.scalar(sa.select(label.shard).order_by(label).limit(1)) == 0


def test_between_times_is_half_open_and_exact_to_the_millisecond(events: Session) -> None:
    def count(start: datetime, end: datetime) -> int:
        return events.scalars(sa.select(sa.func.count(Event.id)).where(Event.id.between_times(start, end))).one()

    millisecond = timedelta(milliseconds=1)
    assert count(START, START + HOUR) == 60
    assert count(START + millisecond, START + HOUR) == 59
    assert count(START, START + HOUR + millisecond) == 61
    assert count(START, START) == 0
    assert count(START.astimezone(timezone(timedelta(hours=9))), START + HOUR) == 60  # the same instant elsewhere
    assert count(START - 24 * HOUR, START + 100 * HOUR) == 2_000


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (START, START + HOUR),
        (sa.func.now() - timedelta(minutes=5), sa.func.now()),
        (sa.func.now() - sa.text("interval '5 minutes'"), START + 10_000 * HOUR),
        (START, sa.func.current_timestamp()),
        (sa.literal(START), sa.select(sa.func.now()).scalar_subquery()),
    ],
)
def test_between_times_uses_the_index(events: Session, start: Any, end: Any) -> None:
    query = sa.select(Event.happened).where(Event.id.between_times(start, end)).limit(10)
    assert index_condition(events, query) is not None
    by_function = sa.select(Event.happened).where(Event.id.timestamp >= START, Event.id.timestamp < START + HOUR)
    assert index_condition(events, by_function) is None  # what the check would miss


def index_condition(session: Session, query: sa.Select[Any]) -> str | None:
    """Return the condition under which an index on the bare column is searched, from both sides, or None."""
    session.execute(sa.text("set local enable_seqscan = off"))
    session.execute(sa.text("set local enable_bitmapscan = off"))
    compiled = query.compile(session.get_bind(), compile_kwargs={"render_postcompile": True})
    plan = session.connection().exec_driver_sql(f"explain {compiled}", compiled.params).scalars().all()
    session.rollback()
    conditions = [line.strip() for line in plan if "Index Cond: ((id >= " in line and "AND (id < " in line]
    return conditions[0] if conditions else None


def test_between_times_of_a_column(events: Session) -> None:
    other = aliased(Event)
    around = other.id.between_times(Event.happened - sa.text("interval '1 minute'"), Event.happened)
    pairs = sa.select(sa.func.count()).select_from(Event).join(other, around)
    assert events.scalar(pairs) == 1_999
    assert events.scalar(pairs.where(other.id.between_times(Event.happened, Event.happened))) == 0


@pytest.mark.parametrize(
    ("start", "end", "error", "message"),
    [
        (START.replace(tzinfo=None), START, InvalidIdError, "no time zone"),
        (START, START.replace(tzinfo=None), InvalidIdError, "no time zone"),
        (sa.func.now(), START.replace(tzinfo=None), InvalidIdError, "no time zone"),
        (datetime(2024, 12, 31, tzinfo=UTC), START, InvalidIdError, "2025-01-01.* to 2059-11-"),
        (START, datetime(2060, 1, 1, tzinfo=UTC), InvalidIdError, "2025-01-01.* to 2059-11-"),
        (START + HOUR, START, InvalidIdError, "before it starts"),
        (date(2026, 3, 1), START, TypeError, "is a date; give an aware datetime"),
        ("2026-03-01", START, TypeError, "is a str; give an aware datetime"),
        (START, 1_700_000_000, TypeError, "is a int; give an aware datetime"),
        (START, None, TypeError, "is a NoneType; give an aware datetime"),
    ],
)
def test_between_times_refuses(start: Any, end: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Event.id.between_times(start, end)


async def test_times_on_asynchronous_drivers(async_engine: AsyncEngine, events: Session) -> None:
    queries: list[tuple[Callable[[], Any], int]] = [
        (lambda: Event.id.between_times(START, START + HOUR), 60),
        (lambda: Event.id.between_times(sa.literal(START), START + HOUR), 60),
        (lambda: Event.id.between_times(START, sa.func.now()), 2_000),
        (lambda: Event.id.timestamp < START + HOUR, 60),
    ]
    async with async_engine.connect() as connection:
        for condition, count in queries:
            assert await connection.scalar(sa.select(sa.func.count(Event.id)).where(condition())) == count
