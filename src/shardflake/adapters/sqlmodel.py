"""Fields of SQLModel tables that hold ids (extra ``sqlmodel``).

::

    class Order(SQLModel, table=True):
        id: ShardflakeId | None = id_field()
        customer_id: ShardflakeId = foreign_id_field("customer.id")

with :data:`shardflake.adapters.pydantic.ShardflakeId`, so that models of requests and responses that inherit the fields read
and write texts in JSON. SQLModel does not validate the arguments of a table's class; its other classes do.
"""

from __future__ import annotations

from typing import Any

from sqlmodel import Field

from shardflake.sqlalchemy import ShardflakeId, next_id

__all__ = ["foreign_id_field", "id_field"]


def id_field(*, shard: int | None = None) -> Any:
    """Return a primary key that the database fills; None until the row is inserted.

    :param shard: a logical shard that the database owns; without it, the database's own.
    :raises ValueError: for a shard that is not 0 to 8191.
    """
    return Field(default=None, primary_key=True, sa_type=ShardflakeId, sa_column_kwargs={"server_default": next_id(shard)})


def foreign_id_field(target: str, **options: Any) -> Any:
    """Return a foreign key to an id; without its type SQLModel would make it an integer of 32 bits.

    :param target: the column that it refers to, such as ``customer.id``.
    :param options: further arguments of :func:`sqlmodel.Field`.
    """
    return Field(foreign_key=target, sa_type=ShardflakeId, **options)
