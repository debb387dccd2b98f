"""The store of the demo: four databases on one server, each a shard, and the models that live in all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

import psycopg
import sqlalchemy as sa
from psycopg import sql
from sqlalchemy import event
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from shardflake import install
from shardflake.bench import instagram
from shardflake.errors import ShardIdError
from shardflake.ids import decode
from shardflake.server import LocalServer
from shardflake.sqlalchemy import ShardflakePK

PRODUCTS = (
    ("teapot", 2450), ("desk lamp", 3900), ("notebook", 650), ("wool scarf", 2900),
    ("kettle", 4200), ("wall clock", 3350), ("raincoat", 7800), ("sketch pad", 990),
)  # fmt: skip
"""What the store sells: name and price in cents."""

PEOPLE = {
    "americas": ("Ana Lima", "Luis Rojas", "Mary Hill", "John Reed", "Carla Paz"),
    "europe": ("Jonas Weber", "Marie Roux", "Piotr Nowak", "Elena Conti", "Tomas Novak"),
    "asia": ("Yui Tanaka", "Arjun Rao", "Linh Tran", "Minjun Kim", "Siti Aminah"),
    "oceania": ("Olivia Clark", "Tane Walker", "Sina Leota", "Jack Evans", "Ruby King"),
}
"""Who buys there, by region; the regions are the shards, numbered from 1."""


class Base(DeclarativeBase):
    """Models of the store."""


class Customer(Base):
    """Somebody who buys."""

    __tablename__ = "customers"
    id: Mapped[ShardflakePK]
    name: Mapped[str]
    orders: Mapped[list[Order]] = relationship(back_populates="customer")


class Order(Base):
    """What a customer bought at once; ``reference`` is the application's own name for it."""

    __tablename__ = "orders"
    id: Mapped[ShardflakePK]
    customer_id: Mapped[int] = mapped_column(sa.ForeignKey("customers.id"), index=True)
    reference: Mapped[str]
    customer: Mapped[Customer] = relationship(back_populates="orders")
    lines: Mapped[list[OrderLine]] = relationship(back_populates="order")


class OrderLine(Base):
    """One product of an order."""

    __tablename__ = "order_lines"
    id: Mapped[ShardflakePK]
    order_id: Mapped[int] = mapped_column(sa.ForeignKey("orders.id"), index=True)
    product: Mapped[str]
    quantity: Mapped[int]
    price_cents: Mapped[int]
    order: Mapped[Order] = relationship(back_populates="lines")


@dataclass(frozen=True)
class Shard:
    """One database of the store.

    :param name: the region; the database is ``store_<name>``.
    :param shard_id: what its ids carry.
    :param url: for libpq.
    :param engine: for SQLAlchemy.
    """

    name: str
    shard_id: int
    url: str
    engine: sa.Engine


@dataclass(frozen=True)
class Store:
    """All shards, in the order of their ids."""

    shards: tuple[Shard, ...]

    def shard_of(self, row_id: int) -> Shard:
        """Return the shard that an id was made in: the id says so itself.

        :raises InvalidIdError: if it is no id.
        :raises ShardIdError: if no shard of the store has the id's shard id.
        """
        shard_id = decode(row_id).shard
        for shard in self.shards:
            if shard.shard_id == shard_id:
                return shard
        known = ", ".join(str(shard.shard_id) for shard in self.shards)
        raise ShardIdError(f"id {row_id} is of shard {shard_id}; this store has the shards {known}", None)


@contextmanager
def open_store(server: LocalServer) -> Iterator[Store]:
    """Create the four databases, install shardflake and the store's tables in each, and close the engines at the end."""
    shards = []
    try:
        for shard_id, name in enumerate(PEOPLE, start=1):
            shards.append(_create_shard(server, name, shard_id))
        yield Store(tuple(shards))
    finally:
        for shard in shards:
            shard.engine.dispose()


def _create_shard(server: LocalServer, name: str, shard_id: int) -> Shard:
    database = f"store_{name}"
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(database)))
    url = server.url(database)
    engine = sa.create_engine(sa.make_url(url).set(drivername="postgresql+psycopg"))
    install.upgrade(engine, shard_id)
    Base.metadata.create_all(engine)
    with psycopg.connect(url) as connection:
        instagram.install(connection, shard_id)
    return Shard(name, shard_id, url, engine)


@contextmanager
def counted_statements(store: Store, beginning: str = "") -> Iterator[dict[str, int]]:
    """Count the statements that SQLAlchemy sends to each shard meanwhile; the result maps shard names to counts.

    :param beginning: count only statements that begin so.
    """
    counts = {shard.name: 0 for shard in store.shards}
    listeners = []
    for shard in store.shards:

        def count(_connection: object, _cursor: object, text: str, *_: object, name: str = shard.name) -> None:
            counts[name] += text.startswith(beginning)

        event.listen(shard.engine, "before_cursor_execute", count)
        listeners.append((shard.engine, count))
    try:
        yield counts
    finally:
        for engine, count in listeners:
            event.remove(engine, "before_cursor_execute", count)


def new_order(customer: Customer, reference: str, random: Random) -> Order:
    """Return an order of one to five lines; it has no ids yet."""
    lines = []
    for product, price in random.sample(PRODUCTS, random.randint(1, 5)):
        lines.append(OrderLine(product=product, quantity=random.randint(1, 3), price_cents=price))
    return Order(customer=customer, reference=reference, lines=lines)


def new_customer(region: str, number: int, random: Random) -> Customer:
    """Return a customer of a region with four orders; none of them has an id yet."""
    customer = Customer(name=random.choice(PEOPLE[region]))
    for order in range(4):
        new_order(customer, f"{region}-{number:04d}-{order}", random)
    return customer
