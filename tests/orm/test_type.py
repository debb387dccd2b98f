"""The column type: what binds and literals accept, on every driver, and how boring it is otherwise."""

from __future__ import annotations

import pickle
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.orm import DeclarativeBase, Mapped
from sqlalchemy.schema import CreateTable

from shardflake import install
from shardflake.connect import translate_errors
from shardflake.errors import InstallationError, ShardIdError, UnsupportedServerError, from_driver
from shardflake.sqlalchemy import ShardflakeId, ShardflakePK, id_column


class Base(DeclarativeBase):
    pass


class Item(Base):
    __tablename__ = "items"
    id: Mapped[ShardflakePK]


ACCEPTED: list[tuple[Any, int | None]] = [
    (123, 123),
    ("123", 123),
    (0, 0),
    ("-5", -5),
    (2**63 - 1, 2**63 - 1),
    (str(2**63 - 1), 2**63 - 1),
    (-(2**63), -(2**63)),
    (None, None),
]
REFUSED: list[tuple[Any, type[Exception], str]] = [
    (1.0, TypeError, "not 1.0 of type float"),
    (True, TypeError, "not True of type bool"),
    (Decimal(1), TypeError, r"not Decimal\('1'\) of type Decimal"),
    (b"1", TypeError, "of type bytes"),
    (2**63, ValueError, "9223372036854775808 does not fit a bigint: -9223372036854775808 to 9223372036854775807"),
    (str(2**63), ValueError, "does not fit a bigint"),
    ("1" * 5000, ValueError, "does not fit a bigint"),
    (-(2**63) - 1, ValueError, "-9223372036854775809 does not fit a bigint"),
    ("", ValueError, "'' is not the decimal digits of an id"),
    ("-", ValueError, "is not the decimal digits"),
    ("--1", ValueError, "is not the decimal digits"),
    (" 1", ValueError, "is not the decimal digits"),
    ("1_000", ValueError, "is not the decimal digits"),
    ("0x10", ValueError, "is not the decimal digits"),
    ("1e3", ValueError, "is not the decimal digits"),
    ("\N{FULLWIDTH DIGIT ONE}", ValueError, "is not the decimal digits"),
]


def echo(value: Any) -> sa.Select[Any]:
    return sa.select(sa.cast(sa.literal(value, ShardflakeId()), ShardflakeId()))


@pytest.mark.parametrize(("value", "result"), ACCEPTED)
def test_binds_accept(shard: sa.Engine, value: Any, result: int | None) -> None:
    with shard.connect() as connection:
        assert connection.scalar(echo(value)) == result
        assert connection.scalar(sa.select(sa.literal(value, ShardflakeId()).is_not_distinct_from(result))) is True


@pytest.mark.parametrize(("value", "error", "message"), REFUSED)
def test_binds_refuse(shard: sa.Engine, value: Any, error: type[Exception], message: str) -> None:
    with shard.connect() as connection, pytest.raises(sa.exc.StatementError, match=message) as caught:
        connection.execute(sa.select(Item.id).where(Item.id == value))
    assert isinstance(caught.value.orig, error)


async def test_binds_on_asynchronous_drivers(async_engine: AsyncEngine) -> None:
    async with async_engine.connect() as connection:
        for value, result in ACCEPTED:
            assert await connection.scalar(echo(value)) == result
        for value, error, message in REFUSED:
            with pytest.raises(sa.exc.StatementError, match=message) as caught:
                await connection.scalar(echo(value))
            assert isinstance(caught.value.orig, error)


async def test_shifts_work_on_every_driver(async_engine: AsyncEngine, shard: sa.Engine) -> None:
    Base.metadata.create_all(shard)
    column = Item.__table__.c.id
    shard_id = (Item.id >> 10).bitwise_and(8191)
    query = sa.select(Item.id, Item.id >> 23, shard_id, Item.id << 1, column >> 23, Item.id % 1024).where(Item.id >> 23 > 0)
    with shard.begin() as connection:
        made = connection.scalars(sa.insert(Item).returning(Item.id)).one()
        rows = [connection.execute(query).one()]
    async with async_engine.connect() as asynchronous:
        rows.append((await asynchronous.execute(query)).one())
    for row in rows:
        assert tuple(row) == (made, made >> 23, 5, made << 1, made >> 23, made % 1024)


def test_in_lists_and_other_columns_compare_as_ids(shard: sa.Engine) -> None:
    Base.metadata.create_all(shard)
    with shard.begin() as connection:
        made = connection.scalars(sa.insert(Item).returning(Item.id), [{}, {}, {}]).all()
        query = sa.select(Item.id).where(Item.id.in_([made[0], str(made[2])]), Item.id < sa.func.abs(2**62)).order_by(Item.id)
        assert connection.scalars(query).all() == sorted([made[0], made[2]])
        assert connection.scalar(sa.select(sa.func.max(Item.id))) == max(made)


@pytest.mark.parametrize(("value", "result"), ACCEPTED)
def test_literals_are_rendered(value: Any, result: int | None) -> None:
    compiled = sa.select(sa.literal(value, ShardflakeId())).compile(
        dialect=postgresql.dialect(), compile_kwargs={"literal_binds": True}  # type: ignore[no-untyped-call]
    )  # fmt: skip
    assert str(compiled) == f"SELECT {'NULL' if result is None else result} AS anon_1"


@pytest.mark.parametrize(("value", "error", "message"), REFUSED)
def test_literals_refuse_what_binds_refuse(value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises((error, sa.exc.CompileError)) as caught:
        str(sa.select(sa.literal(value, ShardflakeId())).compile(
            dialect=postgresql.dialect(), compile_kwargs={"literal_binds": True}))  # type: ignore[no-untyped-call]  # fmt: skip
    assert isinstance(caught.value if isinstance(caught.value, error) else caught.value.__cause__, error)


def test_the_type_is_boring() -> None:
    assert repr(ShardflakeId()) == "ShardflakeId()"
    assert isinstance(eval(repr(ShardflakeId())), ShardflakeId)
    assert ShardflakeId().python_type is int
    assert ShardflakeId().compile(dialect=postgresql.dialect()) == "BIGINT"  # type: ignore[no-untyped-call]
    assert pickle.loads(pickle.dumps(Base.metadata)).tables["items"].c.id.type.compile() == "BIGINT"
    assert "items.id = :id_1" in str(sa.select(Item.id).where(Item.id == 1))  # printing needs no PostgreSQL


def test_statements_are_cached(shard: sa.Engine) -> None:
    query = [sa.select(Item.id).where(Item.id == number, Item.id.shard == 5) for number in (1, 2)]
    keys = [statement._generate_cache_key() for statement in query]
    assert keys[0] is not None
    assert keys[0] == keys[1]


def test_sqlite_is_refused_when_the_table_is_created() -> None:
    engine = sa.create_engine("sqlite://")
    with pytest.raises(UnsupportedServerError, match="ShardflakeId needs PostgreSQL, where its ids are made, not sqlite"):
        Base.metadata.create_all(engine)
    assert sa.inspect(engine).get_table_names() == []
    engine.dispose()


def test_create_all_before_the_generator_says_what_to_run(database: sa.Engine) -> None:
    with pytest.raises(InstallationError, match=r"table items draws its ids from shardflake.* run: shardflake db upgrade"):
        Base.metadata.create_all(database)
    assert sa.inspect(database).get_table_names() == []
    install.upgrade(database)
    Base.metadata.create_all(database)
    assert sa.inspect(database).get_table_names() == ["items"]


async def test_create_all_on_asynchronous_drivers_finds_the_generator(async_engine: AsyncEngine) -> None:
    async with async_engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)


def test_other_tables_need_no_generator(database: sa.Engine) -> None:
    metadata = sa.MetaData()
    sa.Table("others", metadata, sa.Column("id", sa.BigInteger, primary_key=True), sa.Column("ref", ShardflakeId()))
    metadata.create_all(database)
    assert sa.inspect(database).get_table_names() == ["others"]


def test_ddl_can_be_printed_and_collected_without_a_server() -> None:
    table = sa.Table("things", sa.MetaData(), id_column())
    lines: list[str] = []
    offline: Any = sa.create_mock_engine(
        "postgresql+psycopg://", lambda statement, *_, **__: lines.append(str(statement.compile(dialect=offline.dialect)))
    )
    table.metadata.create_all(offline, checkfirst=False)
    expected = "CREATE TABLE things ( id BIGINT DEFAULT shardflake.next_id() NOT NULL, PRIMARY KEY (id) )"
    assert " ".join(lines[0].split()) == expected
    printed = CreateTable(table).compile(dialect=postgresql.dialect())  # type: ignore[no-untyped-call]
    assert " ".join(str(printed).split()) == expected


def test_a_shard_that_is_not_assigned_says_so_on_insert(database: sa.Engine) -> None:
    install.upgrade(database)
    Base.metadata.create_all(database)
    with pytest.raises(ShardIdError, match="SF001"), translate_errors(), database.begin() as connection:
        connection.execute(sa.insert(Item))


async def test_errors_of_the_generator_are_translated_on_asynchronous_drivers(async_engine: AsyncEngine) -> None:
    async with async_engine.connect() as connection:
        with pytest.raises(sa.exc.DBAPIError) as caught:
            await connection.execute(sa.text("select shardflake.next_id(77)"))
    own = from_driver(caught.value)
    assert isinstance(own, ShardIdError)
    assert own.sqlstate == "SF009"
    assert str(own).startswith("shard 77 is not one of this database's shards {5} (SF009)\nRoute the row")
    assert own.hint is not None
