"""What the demo does, one function per step; each returns what it found."""

from __future__ import annotations

import heapq
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from random import Random

import psycopg
import sqlalchemy as sa
from psycopg import sql
from sqlalchemy.orm import Session, joinedload

from shardflake.demo.load import (
    INSTAGRAM,
    ROWS_PER_STATEMENT,
    WRITERS,
    IdColumn,
    add_customers,
    bulk_load,
    create_table,
)
from shardflake.demo.store import PEOPLE, PRODUCTS, Base, Customer, Order, Shard, Store, counted_statements, new_order
from shardflake.layout import MAX_ID, SHARDFLAKE

SMALLEST_ROWS = WRITERS * ROWS_PER_STATEMENT

MAX_ROUNDS = 50
"""After so many bulk loads without a duplicate, Instagram's function is said to have made none."""

SINGLE_ORDERS = 24
"""Placed one after another at the end, so that the feed has something to merge."""

KEYS = (
    IdColumn("bigserial", "key_bigserial", "bigserial"),
    IdColumn("shardflake", "key_shardflake", "bigint default shardflake.next_id()"),
    IdColumn("uuidv7()", "key_uuidv7", "uuid default uuidv7()"),
    IdColumn("gen_random_uuid()", "key_uuidv4", "uuid default gen_random_uuid()"),
)
"""Primary keys whose indexes are compared."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much the demo writes.

    :param statements: that each of the eight sessions of a bulk load runs, of 1,000 rows each.
    :param customers: added to each shard through the ORM, with four orders each.
    :param index_statements: as ``statements``, for the tables whose indexes are compared.
    """

    statements: int
    customers: int
    index_statements: int

    @classmethod
    def of(cls, rows: int) -> Size:
        """Return the size at which each compared index gets about so many rows; everything else keeps its proportion.

        :raises ValueError: below 8,000, one statement per session.
        """
        if rows < SMALLEST_ROWS:
            raise ValueError(f"{rows} rows are too few: give {SMALLEST_ROWS} or more")
        return cls(max(1, rows // 10_000), rows // 800, rows // SMALLEST_ROWS)


@dataclass(frozen=True, slots=True)
class SharedNumbers:
    """Order numbers of bigserial columns.

    :param orders: rows on all shards.
    :param shared: numbers that more than one shard gave out.
    :param examples: number to shard name to what was ordered there.
    """

    orders: int
    shared: int
    examples: dict[int, dict[str, str]]


def number_orders(store: Store, size: Size) -> SharedNumbers:
    """Let each shard number its own orders with bigserial, and look for numbers that several gave out."""
    random = Random(1)  # noqa: S311
    found: dict[int, dict[str, str]] = defaultdict(dict)
    for shard in store.shards:
        count = size.customers * 2 - random.randrange(size.customers)
        orders = [f"{random.choice(PEOPLE[shard.name]).split()[0]}: {random.choice(PRODUCTS)[0]}" for _ in range(count)]
        with psycopg.connect(shard.url) as connection:
            connection.execute("create table numbered_orders (id bigserial primary key, content text not null)")
            connection.execute("insert into numbered_orders (content) select unnest(%s::text[])", [orders])
            for number, content in connection.execute("select id, content from numbered_orders"):
                found[number][shard.name] = content
    shared = [number for number, contents in found.items() if len(contents) > 1]
    examples = {number: found[number] for number in (shared[0], shared[len(shared) // 2], shared[-1])}
    return SharedNumbers(sum(map(len, found.values())), len(shared), examples)


@dataclass(frozen=True, slots=True)
class InstagramLoad:
    """What Instagram's function did under bulk loads on one shard.

    :param rows: written.
    :param duplicates: rows whose id another row had already.
    :param rounds: bulk loads until the first duplicate showed.
    :param seconds: that writing took.
    :param examples: id to the rows that got it.
    """

    rows: int
    duplicates: int
    rounds: int
    seconds: float
    examples: dict[int, list[str]]


def load_instagram(shard: Shard, size: Size) -> InstagramLoad:
    """Run bulk loads on Instagram's function until an id is there twice, 50 rounds at most."""
    create_table(shard, INSTAGRAM)
    seconds, rounds, rows, duplicates = 0.0, 0, 0, 0
    while not duplicates and rounds < MAX_ROUNDS:
        seconds += bulk_load([shard], INSTAGRAM, size.statements)
        rounds += 1
        with psycopg.connect(shard.url) as connection:
            counts = connection.execute("select count(*), count(*) - count(distinct id) from scans_instagram").fetchone()
            rows, duplicates = counts or (0, 0)
    with psycopg.connect(shard.url) as connection:
        examples = connection.execute(
            "select id, array_agg(format('scanner %s, parcel %s', scanner, parcel)) from scans_instagram"
            " group by id having count(*) > 1 order by id limit 3"
        ).fetchall()
    return InstagramLoad(rows, duplicates, rounds, seconds, dict(examples))


@dataclass(frozen=True, slots=True)
class ShardflakeLoad:
    """What shardflake did under bulk loads and the ORM on all shards at once.

    :param scans: rows written by the bulk loads, per shard name.
    :param objects: rows written by the ORM, per shard name.
    :param inserts: INSERT statements that the ORM sent for them, all shards together.
    :param duplicates: ids that another row of any table on any shard had already.
    :param mixed_up: orders whose object holds another row's key.
    :param foreign: rows whose id carries another shard's id.
    """

    scans: dict[str, int]
    objects: dict[str, int]
    inserts: int
    duplicates: int
    mixed_up: int
    foreign: int

    @property
    def rows(self) -> int:
        """All rows whose ids were compared."""
        return sum(self.scans.values()) + sum(self.objects.values())


def load_shardflake(store: Store, size: Size, rounds: int, column: IdColumn) -> ShardflakeLoad:
    """Run bulk loads and ORM sessions on all shards at once, then single orders, and compare all ids of all shards.

    :param rounds: bulk loads, as many as Instagram's function had.
    :param column: what the bulk loads draw their ids from.
    """
    keys: dict[str, dict[int, str]] = {shard.name: {} for shard in store.shards}
    for shard in store.shards:
        create_table(shard, column)
    with counted_statements(store, "INSERT") as inserts:
        alongside = [partial(add_customers, shard, size.customers, keys[shard.name]) for shard in store.shards]
        bulk_load(store.shards, column, size.statements * rounds, alongside)
        place_single_orders(store)
    scans, objects, ids, foreign, mixed_up = {}, {}, [], 0, 0
    for shard in store.shards:
        scanned = _ids(shard, column.table)
        ordered = [row_id for table in Base.metadata.sorted_tables for row_id in _ids(shard, table.name)]
        scans[shard.name], objects[shard.name] = len(scanned), len(ordered)
        ids += scanned + ordered
        foreign += sum(SHARDFLAKE.decode(row_id)["shard"] != shard.shard_id for row_id in scanned + ordered)
        mixed_up += _mixed_up(shard, keys[shard.name])
    return ShardflakeLoad(scans, objects, sum(inserts.values()), len(ids) - len(set(ids)), mixed_up, foreign)


def place_single_orders(store: Store) -> None:
    """Let customers order one after another, some milliseconds apart, each on the shard where they live."""
    random = Random(2)  # noqa: S311
    for number in range(SINGLE_ORDERS):
        shard = random.choice(store.shards)
        with Session(shard.engine) as session:
            customers = session.scalars(sa.select(Customer).order_by(Customer.id).limit(20)).all()
            session.add(new_order(random.choice(customers), f"single-{number:02d}", random))
            session.commit()
        time.sleep(random.uniform(0.02, 0.08))


def _ids(shard: Shard, table: str) -> list[int]:
    with psycopg.connect(shard.url) as connection:
        return [row[0] for row in connection.execute(sql.SQL("select id from {}").format(sql.Identifier(table)))]


def _mixed_up(shard: Shard, keys: dict[int, str]) -> int:
    """Count the orders whose object got an id that the database gave to another row."""
    with Session(shard.engine) as session:
        stored = {row.id: row.reference for row in session.execute(sa.select(Order.id, Order.reference))}
    return sum(stored.get(order_id) != reference for order_id, reference in keys.items())


@dataclass(frozen=True, slots=True)
class FoundOrder:
    """An order that was found by its id alone.

    :param shard: where it was.
    :param order: with its customer and lines loaded.
    :param statements: that were sent to each shard.
    """

    shard: Shard
    order: Order
    statements: dict[str, int]


def find_order(store: Store, order_id: int) -> FoundOrder:
    """Find an order, its customer and its lines by the order's id: the id says which shard to ask."""
    with counted_statements(store) as statements:
        shard = store.shard_of(order_id)
        with Session(shard.engine) as session:
            query = sa.select(Order).where(Order.id == order_id)
            query = query.options(joinedload(Order.customer), joinedload(Order.lines))
            order = session.scalars(query).unique().one()
    return FoundOrder(shard, order, statements)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the feed, newest order first.

    :param orders: with their customers loaded.
    :param statements: that all shards ran for it.
    """

    orders: list[Order]
    statements: int


def read_page(store: Store, before: int, length: int) -> Page:
    """Read the newest orders of all shards that are older than a given one.

    :param before: id that the page ends before; the last one of the page before it.
    :param length: orders on the page.
    """
    query = sa.select(Order).options(joinedload(Order.customer))
    query = query.where(Order.id < before).order_by(Order.id.desc()).limit(length)
    newest: list[Iterable[Order]] = []
    with counted_statements(store) as statements:
        for shard in store.shards:
            with Session(shard.engine) as session:
                newest.append(session.scalars(query).all())
    merged = heapq.merge(*newest, key=lambda order: order.id, reverse=True)
    return Page([order for order, _ in zip(merged, range(length), strict=False)], sum(statements.values()))


def read_pages(store: Store, count: int, length: int) -> list[Page]:
    """Read the first pages of the feed, each from where the one before it ended."""
    pages: list[Page] = []
    before = MAX_ID
    for _ in range(count):
        pages.append(read_page(store, before, length))
        before = pages[-1].orders[-1].id
    return pages


@dataclass(frozen=True, slots=True)
class IndexSize:
    """Size of a primary key's index.

    :param name: of the key.
    :param rows: in the table.
    :param size: in bytes.
    """

    name: str
    rows: int
    size: int

    @property
    def bytes_per_row(self) -> float:
        """Bytes of index per row of the table."""
        return self.size / self.rows


def measure_index(shard: Shard, key: IdColumn, size: Size) -> IndexSize:
    """Fill a table from eight sessions at once, and measure the index of its primary key."""
    create_table(shard, key, "primary key")
    bulk_load([shard], key, size.index_statements)
    with psycopg.connect(shard.url) as connection:
        query = sql.SQL("select count(*), pg_relation_size(%s::regclass) from {}").format(sql.Identifier(key.table))
        rows, in_bytes = connection.execute(query, [f"{key.table}_pkey"]).fetchone() or (0, 0)
    return IndexSize(key.name, rows, in_bytes)
