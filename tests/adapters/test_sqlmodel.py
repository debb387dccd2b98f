"""SQLModel tables: keys from the database, bigint foreign keys, text in JSON."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from sqlmodel import Session, SQLModel, select

from shardflake import decode
from shardflake.adapters.pydantic import ShardflakeId
from shardflake.adapters.sqlmodel import foreign_id_field, id_field


class CustomerRow(SQLModel, table=True):
    __tablename__ = "customers"
    id: ShardflakeId | None = id_field()


class OrderBase(SQLModel):
    customer_id: ShardflakeId = foreign_id_field("customers.id", index=True)


class OrderRow(OrderBase, table=True):
    __tablename__ = "orders"
    id: ShardflakeId | None = id_field()


class OrderRead(OrderBase):
    id: ShardflakeId


@pytest.fixture
def session(shard: sa.Engine) -> Any:
    tables: list[Any] = [SQLModel.metadata.tables["customers"], SQLModel.metadata.tables["orders"]]
    SQLModel.metadata.create_all(shard, tables=tables)
    with Session(shard) as opened:
        yield opened


def test_the_database_makes_the_keys_and_json_has_text(session: Session) -> None:
    customer = CustomerRow()
    session.add(customer)
    session.flush()
    assert isinstance(customer.id, int)
    assert decode(customer.id).shard == 5
    orders = [OrderRow(customer_id=customer.id) for _ in range(50)]
    session.add_all(orders)
    session.commit()
    found = session.exec(select(OrderRow).where(OrderRow.customer_id == customer.id)).all()
    assert len({order.id for order in found}) == 50
    read = OrderRead.model_validate(found[0], from_attributes=True)
    assert type(read.id) is int
    assert read.model_dump(mode="json") == {"id": str(found[0].id), "customer_id": str(customer.id)}
    assert OrderRead.model_validate_json(read.model_dump_json()) == read


def test_columns_are_bigint_and_draw_from_the_generator(session: Session) -> None:
    columns = {column["name"]: column for column in sa.inspect(session.connection()).get_columns("orders")}
    assert isinstance(columns["id"]["type"], sa.BigInteger)
    assert columns["id"]["default"] == "shardflake.next_id()"
    assert isinstance(columns["customer_id"]["type"], sa.BigInteger)
    assert columns["customer_id"]["default"] is None


def test_a_shard_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="shard 8192 is not 0 to 8191"):
        id_field(shard=8192)
