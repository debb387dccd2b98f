"""SQLModel on a real shard: one class for the table and for what goes out as JSON."""

from __future__ import annotations

import json

import sqlalchemy as sa
from sqlmodel import Field, Session, SQLModel, select

from shardflake.adapters.pydantic import Id
from shardflake.sqlalchemy import ShardflakeId, next_id


class OrderBase(SQLModel):
    item: str


class ModelOrder(OrderBase, table=True):
    id: Id | None = Field(default=None, primary_key=True, sa_type=ShardflakeId, sa_column_kwargs={"server_default": next_id()})
    parent_id: Id | None = Field(default=None, foreign_key="modelorder.id", sa_type=ShardflakeId)


class OrderOut(OrderBase):
    id: Id
    parent_id: Id | None


def test_ids_come_from_the_database_and_leave_as_digits(shard: sa.Engine) -> None:
    SQLModel.metadata.create_all(shard, [SQLModel.metadata.tables["modelorder"]])
    with Session(shard) as session:
        first = ModelOrder(item="tea")
        session.add(first)
        session.flush()
        session.add(ModelOrder(item="cup", parent_id=first.id))
        session.commit()
        orders = session.exec(select(ModelOrder).order_by(sa.text("id"))).all()
        dumped = [json.loads(OrderOut.model_validate(order, from_attributes=True).model_dump_json()) for order in orders]
    assert [order["item"] for order in dumped] == ["tea", "cup"]
    assert [order["parent_id"] for order in dumped] == [None, dumped[0]["id"]]
    assert int(dumped[0]["id"]) > 2**53
    columns = {column["name"]: column["type"] for column in sa.inspect(shard).get_columns("modelorder")}
    assert isinstance(columns["id"], sa.BigInteger)
    assert isinstance(columns["parent_id"], sa.BigInteger)
    assert OrderOut.model_json_schema()["properties"]["id"]["type"] == "string"
