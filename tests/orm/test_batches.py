"""Bulk inserts through the ORM: few statements, and every object with the key of its own row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

import shardflake
from shardflake import install
from shardflake.sqlalchemy import ShardflakeId, ShardflakeMixin, ShardflakePK, id_column, next_id
from tests.orm.conftest import SQLALCHEMY_21

OBJECTS = 5_000


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[ShardflakePK]
    payload: Mapped[int]


class TenantOrder(Base):
    __tablename__ = "tenant_orders"
    tenant_id: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[ShardflakePK]
    payload: Mapped[int]


class MixedIn(ShardflakeMixin, Base):
    __tablename__ = "mixed_in"
    payload: Mapped[int]


class ByCore(Base):
    __table__ = sa.Table("by_core", Base.metadata, id_column(), sa.Column("payload", sa.Integer))


def mismatches(session: Session, model: Any, objects: Sequence[Any]) -> int:
    """Count the objects whose key is that of another object's row, or of none."""
    payloads = {row.id: row.payload for row in session.execute(sa.select(model.id, model.payload))}
    return sum(payloads.get(key) != payload for key, payload in [(item.id, item.payload) for item in objects])


@pytest.mark.parametrize("model", [Order, TenantOrder, MixedIn, ByCore])
def test_add_all_gives_every_object_the_key_of_its_own_row(shard: sa.Engine, inserts: list[str], model: Any) -> None:
    Base.metadata.create_all(shard)
    tenant = {"tenant_id": 7} if model is TenantOrder else {}
    objects = [model(payload=number, **tenant) for number in range(OBJECTS)]
    with Session(shard) as session:
        session.add_all(objects)
        session.flush()
        statements = len(inserts)
        assert mismatches(session, model, objects) == 0
        ids = [item.id for item in objects]
        session.commit()
    assert statements <= 10 if SQLALCHEMY_21 else statements == OBJECTS
    assert ids == sorted(set(ids))
    assert {shardflake.decode(value).shard for value in ids} == {5}


@pytest.mark.skipif(not SQLALCHEMY_21, reason="SQLAlchemy 2.0 inserts row by row, whatever the default is")
def test_the_check_catches_a_default_that_is_wrongly_called_monotonic(shard: sa.Engine, inserts: list[str]) -> None:
    class OtherBase(DeclarativeBase):
        pass

    class Shuffled(OtherBase):
        __tablename__ = "shuffled"
        id: Mapped[int] = mapped_column(
            ShardflakeId(), primary_key=True, insert_sentinel=True, server_default=sa.Function("shuffled_id", monotonic=True)
        )
        payload: Mapped[int]

    with shard.begin() as connection:
        # a counter that wraps, as in Instagram's published function: unique here, and not increasing
        connection.execute(sa.text("create sequence shuffled_seq"))
        body = "return (select (n / 1024) * 1024 + (n + 512) % 1024 from (select nextval('shuffled_seq') as n) as s)"
        connection.execute(sa.text(f"create function shuffled_id() returns bigint language sql volatile {body}"))
        OtherBase.metadata.create_all(connection)
    objects = [Shuffled(payload=number) for number in range(OBJECTS)]
    with Session(shard) as session:
        session.add_all(objects)
        session.flush()
        assert len(inserts) <= 10
        assert mismatches(session, Shuffled, objects) > 0


def test_core_inserts_return_the_ids_in_the_order_of_the_parameters(shard: sa.Engine) -> None:
    Base.metadata.create_all(shard)
    rows = [{"payload": number} for number in range(2_000)]
    statement = sa.insert(Order).returning(Order.id, Order.payload, sort_by_parameter_order=True)
    with shard.begin() as connection:
        returned = connection.execute(statement, rows).all()
    assert [row.payload for row in returned] == list(range(2_000))
    assert [row.id for row in returned] == sorted({row.id for row in returned})


def test_objects_may_bring_ids_of_their_own(shard: sa.Engine, inserts: list[str]) -> None:
    Base.metadata.create_all(shard)
    with Session(shard) as session:
        reserved = session.scalars(sa.text("select shardflake.next_ids(3000)")).all()
        objects = [Order(id=value, payload=number) for number, value in enumerate(reserved)]
        session.add_all([*objects, drawn := Order(payload=-1)])
        session.flush()
        assert mismatches(session, Order, [*objects, drawn]) == 0
        assert [item.id for item in objects] == reserved
        assert drawn.id > max(reserved)
    assert len(inserts) <= 5


def test_a_logical_shard_is_part_of_the_default(shard: sa.Engine) -> None:
    install.assign(shard, 5, logical_shards=[6])
    metadata = sa.MetaData()
    table = sa.Table("feed", metadata, id_column(shard=6), sa.Column("payload", sa.Integer))
    metadata.create_all(shard)
    with shard.begin() as connection:
        inserted = connection.execute(sa.insert(table), {"payload": 1}).inserted_primary_key
    assert inserted is not None
    assert shardflake.decode(inserted.id).shard == 6


@pytest.mark.parametrize("shard_id", [-1, 8192])
def test_a_logical_shard_out_of_range_is_refused(shard_id: int) -> None:
    with pytest.raises(ValueError, match=f"shard {shard_id} is not 0 to 8191"):
        next_id(shard_id)
