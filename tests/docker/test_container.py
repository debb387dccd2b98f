"""Install, insert and check on the image postgres:18, as testcontainers starts it."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session

from shardflake import install
from shardflake.sqlalchemy import ShardflakePK


class Base(DeclarativeBase):
    pass


class Event(Base):
    __tablename__ = "events"
    id: Mapped[ShardflakePK]
    number: Mapped[int]


def test_install_insert_and_check_in_a_container(database: sa.Engine) -> None:
    assert install.upgrade(database, shard_id=12) == install.head()
    Base.metadata.create_all(database)
    with Session(database) as session:
        events = [Event(number=number) for number in range(2_000)]
        session.add_all(events)
        session.commit()
        assert len({event.id for event in events}) == 2_000
        assert session.scalar(sa.select(sa.func.count()).where(Event.id.shard == 12)) == 2_000
    assert install.status(database).identity == "confirmed"
    assert install.check(database) == ""
