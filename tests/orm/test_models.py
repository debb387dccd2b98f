"""The ways to write a model: declarative, dataclass, mixin, SQLModel, Flask-SQLAlchemy; foreign keys; async sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flask
import pytest
import sqlalchemy as sa
import sqlmodel
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    MappedAsDataclass,
    Session,
    mapped_column,
    relationship,
    selectinload,
)

import shardflake
from shardflake.sqlalchemy import ShardflakeId, ShardflakeMixin, ShardflakePK, id_column, next_id
from tests.orm.conftest import driver_url


class Base(DeclarativeBase):
    pass


class Customer(Base):
    __tablename__ = "customers"
    id: Mapped[ShardflakePK]
    name: Mapped[str]
    orders: Mapped[list[Order]] = relationship(back_populates="customer")


class Order(ShardflakeMixin, Base):
    __tablename__ = "orders"
    customer_id: Mapped[int] = mapped_column(sa.ForeignKey("customers.id"))
    customer: Mapped[Customer] = relationship(back_populates="orders")


class Vip(Customer):
    __tablename__ = "vips"
    id: Mapped[int] = mapped_column(sa.ForeignKey("customers.id"), primary_key=True)
    rebate: Mapped[int]


def columns(engine: sa.Engine, table: str) -> dict[str, tuple[str, str | None]]:
    """Return the type and the default of each column of a table, as the server has them."""
    reflected = sa.inspect(engine).get_columns(table)
    return {column["name"]: (str(column["type"]), column["default"]) for column in reflected}


def test_related_objects_are_saved_together_and_foreign_keys_are_bigint(shard: sa.Engine) -> None:
    Base.metadata.create_all(shard)
    assert columns(shard, "customers")["id"] == ("BIGINT", "shardflake.next_id()")
    assert columns(shard, "orders") == {"id": ("BIGINT", "shardflake.next_id()"), "customer_id": ("BIGINT", None)}
    with Session(shard) as session:
        session.add_all([Customer(name=str(number), orders=[Order(), Order()]) for number in range(100)])
        session.commit()
    with Session(shard) as session:
        customers = session.scalars(sa.select(Customer).options(selectinload(Customer.orders))).all()
        assert len(customers) == 100
        for customer in customers:
            assert [order.customer_id for order in customer.orders] == [customer.id] * 2
            assert all(order.id > customer.id for order in customer.orders)


def test_the_id_of_the_mixin_is_the_first_column() -> None:
    assert [column.name for column in Order.__table__.columns] == ["id", "customer_id"]


def test_joined_inheritance_draws_one_id_for_both_tables(shard: sa.Engine) -> None:
    Base.metadata.create_all(shard)
    assert columns(shard, "vips")["id"] == ("BIGINT", None)
    with Session(shard) as session:
        session.add_all([Vip(name=str(number), rebate=number) for number in range(50)])
        session.commit()
        rows = session.execute(sa.select(Vip.__table__.c.id, Customer.__table__.c.name, Vip.__table__.c.rebate).join_from(
            Vip.__table__, Customer.__table__)).all()  # fmt: skip
    assert len(rows) == 50
    assert all(row.name == str(row.rebate) for row in rows)


def test_a_dataclass_has_no_id_argument(shard: sa.Engine) -> None:
    class DataclassBase(MappedAsDataclass, DeclarativeBase):
        pass

    class Item(DataclassBase):
        __tablename__ = "items"
        id: Mapped[ShardflakePK] = mapped_column(init=False)
        name: Mapped[str]

    DataclassBase.metadata.create_all(shard)
    with Session(shard) as session:
        session.add(item := Item(name="lamp"))
        session.commit()
        assert shardflake.decode(item.id).shard == 5
        assert repr(item).endswith(f"Item(id={item.id}, name='lamp')")
    with pytest.raises(TypeError, match="id"):
        Item(id=1, name="lamp")  # type: ignore[call-arg]


def test_a_model_that_forgets_the_default_does_not_become_bigserial(shard: sa.Engine) -> None:
    class OtherBase(DeclarativeBase):
        pass

    class Forgetful(OtherBase):
        __tablename__ = "forgetful"
        id: Mapped[int] = mapped_column(ShardflakeId(), primary_key=True)

    copied = OtherBase.metadata.tables["forgetful"].to_metadata(sa.MetaData(), name="copied")
    copied.metadata.create_all(shard)
    OtherBase.metadata.create_all(shard)
    assert columns(shard, "forgetful") == columns(shard, "copied") == {"id": ("BIGINT", None)}
    with Session(shard) as session:
        session.add(Forgetful())
        with (
            pytest.warns(sa.exc.SAWarning, match=r"'forgetful\.id' .* has no .* default"),
            pytest.raises(sa.exc.IntegrityError, match='null value in column "id"'),
        ):
            session.flush()


def test_the_same_model_with_a_plain_bigint_does_become_bigserial(shard: sa.Engine) -> None:
    metadata = sa.MetaData()
    sa.Table("plain", metadata, sa.Column("id", sa.BigInteger, primary_key=True))
    metadata.create_all(shard)
    assert columns(shard, "plain") == {"id": ("BIGINT", "nextval('plain_id_seq'::regclass)")}


def test_autoincrement_is_refused() -> None:
    with pytest.raises(sa.exc.ArgumentError, match=r"autoincrement=True; give it server_default=next_id\(\)"):
        sa.Column("id", ShardflakeId(), primary_key=True, autoincrement=True)


@pytest.mark.parametrize(
    "column",
    [
        lambda: id_column(),
        lambda: id_column("id", comment="the key"),
        lambda: sa.Column("id", ShardflakeId, primary_key=True, server_default=next_id()),
        lambda: sa.Column("id", ShardflakeId(), primary_key=True, server_default=sa.text("shardflake.next_id()")),
    ],
)
def test_core_columns(shard: sa.Engine, column: Callable[[], sa.Column[int]]) -> None:
    table = sa.Table("things", sa.MetaData(), column())
    table.metadata.create_all(shard)
    assert columns(shard, "things") == {"id": ("BIGINT", "shardflake.next_id()")}
    with shard.begin() as connection:
        inserted = connection.execute(table.insert()).inserted_primary_key
    assert inserted is not None
    assert shardflake.decode(inserted.id).shard == 5


def test_sqlmodel(shard: sa.Engine) -> None:
    class Author(sqlmodel.SQLModel, table=True):
        id: int | None = sqlmodel.Field(
            default=None, primary_key=True, sa_type=ShardflakeId, sa_column_kwargs={"server_default": next_id()}
        )
        name: str

    class Book(sqlmodel.SQLModel, table=True):
        id: int | None = sqlmodel.Field(default=None, sa_column=id_column())
        author_id: int | None = sqlmodel.Field(default=None, foreign_key="author.id", sa_type=ShardflakeId)

    metadata = sqlmodel.SQLModel.metadata
    metadata.create_all(shard)
    metadata.clear()
    assert columns(shard, "author")["id"] == columns(shard, "book")["id"] == ("BIGINT", "shardflake.next_id()")
    assert columns(shard, "book")["author_id"] == ("BIGINT", None)
    with sqlmodel.Session(shard) as session:
        session.add(author := Author(name="Ada"))
        session.flush()
        session.add(book := Book(author_id=author.id))
        session.commit()
        assert author.id is not None
        assert book.id is not None
        assert book.author_id == author.id < book.id


def test_flask_sqlalchemy(shard: sa.Engine) -> None:
    database: Any = SQLAlchemy()

    class Annotated(database.Model):  # type: ignore[misc]
        id: Mapped[ShardflakePK]
        number: Mapped[int]

    class Legacy(database.Model):  # type: ignore[misc]
        id = id_column()
        annotated_id = database.Column(database.ForeignKey(Annotated.id))

    app = flask.Flask(__name__)
    app.config["SQLALCHEMY_DATABASE_URI"] = driver_url(shard, "psycopg")
    database.init_app(app)
    with app.app_context():
        database.create_all()
        database.session.add_all(made := [Annotated(number=number) for number in range(10)])
        database.session.flush()
        database.session.add(legacy := Legacy(annotated_id=made[0].id))
        database.session.commit()
        assert {item.number: item.id for item in made} == {
            number: key for key, number in database.session.execute(sa.select(Annotated.id, Annotated.number))
        }
        assert legacy.annotated_id == made[0].id < legacy.id
        database.session.remove()
        database.engine.dispose()
    assert columns(shard, "legacy")["annotated_id"] == ("BIGINT", None)


async def test_async_sessions_know_the_id_after_commit(async_engine: AsyncEngine) -> None:
    async with async_engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    async with AsyncSession(async_engine, expire_on_commit=False) as session:
        customers = [Customer(name=str(number), orders=[Order()]) for number in range(200)]
        session.add_all(customers)
        await session.commit()
        ids = {customer.name: customer.id for customer in customers}  # no await: nothing is loaded again
        names = {row.name: row.id for row in await session.execute(sa.select(Customer.id, Customer.name))}
    assert ids == names
    assert len(set(ids.values())) == 200
