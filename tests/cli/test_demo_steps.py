"""The steps of the demo on a real store, each held against what the databases contain."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from shardflake.demo import steps
from shardflake.demo.load import SHARDFLAKE, IdColumn
from shardflake.demo.store import Customer, Order, Store, open_store
from shardflake.server import LocalServer

pytestmark = pytest.mark.xdist_group("demo steps")
SMALL = steps.Size(statements=2, customers=12, index_statements=3)


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    """A store that the shardflake step has filled."""
    with LocalServer(settings={"fsync": "off"}) as server, open_store(server) as opened:
        yield opened


@pytest.fixture(scope="module")
def loaded(store: Store) -> steps.ShardflakeLoad:
    """What that step found."""
    return steps.load_shardflake(store, SMALL, rounds=2, column=SHARDFLAKE)


def all_orders(store: Store) -> list[int]:
    """Return the ids of all orders of all shards, newest first."""
    found: list[int] = []
    for shard in store.shards:
        with Session(shard.engine) as session:
            found += session.scalars(sa.select(Order.id))
    return sorted(found, reverse=True)


def test_counts_what_was_written(store: Store, loaded: steps.ShardflakeLoad) -> None:
    assert loaded.scans == {shard.name: 2 * 2 * 8 * 1000 for shard in store.shards}
    assert len(all_orders(store)) == 4 * 12 * 4 + steps.SINGLE_ORDERS
    assert (loaded.duplicates, loaded.mixed_up, loaded.foreign) == (0, 0, 0)
    for shard in store.shards:
        with Session(shard.engine) as session:
            assert session.scalar(sa.select(sa.func.count()).select_from(Customer)) == 12


@pytest.mark.usefixtures("loaded")
def test_finds_each_order_with_one_statement(store: Store) -> None:
    for order_id in all_orders(store)[::20]:
        found = steps.find_order(store, order_id)
        assert found.order.id == order_id
        assert found.order.customer.name
        assert found.order.lines
        assert {name for name, count in found.statements.items() if count} == {found.shard.name}
        assert sum(found.statements.values()) == 1


@pytest.mark.usefixtures("loaded")
def test_pages_are_the_merge_of_all_shards_without_gap_or_overlap(store: Store) -> None:
    orders = all_orders(store)
    length = 7
    pages = steps.read_pages(store, len(orders) // length, length)
    assert [order.id for page in pages for order in page.orders] == orders[: len(pages) * length]
    assert {page.statements for page in pages} == {4}
    rest = steps.read_page(store, pages[-1].orders[-1].id, length)
    assert [order.id for order in rest.orders] == orders[len(pages) * length :]


def test_shared_numbers_are_those_of_two_shards_or_more(store: Store) -> None:
    found = steps.number_orders(store, SMALL)
    counts = []
    for shard in store.shards:
        with psycopg.connect(shard.url) as connection:
            row = connection.execute("select count(*), max(id) from numbered_orders").fetchone()
            assert row is not None
            assert row[0] == row[1]
            counts.append(row[0])
    assert found.orders == sum(counts)
    assert found.shared == sorted(counts)[-2]
    assert all(len(contents) > 1 for contents in found.examples.values())


def test_duplicates_of_instagram_are_rows_that_share_an_id(store: Store) -> None:
    shard = store.shards[1]
    found = steps.load_instagram(shard, SMALL)
    with psycopg.connect(shard.url) as connection:
        ids = [row[0] for row in connection.execute("select id from scans_instagram")]
    assert found.rows == len(ids) == found.rounds * 2 * 8 * 1000
    assert found.duplicates == len(ids) - len(set(ids)) > 0
    assert all(len(rows) > 1 and ids.count(row_id) == len(rows) for row_id, rows in found.examples.items())


@pytest.mark.parametrize("key", steps.KEYS, ids=lambda key: key.table)
def test_index_sizes_are_of_the_primary_key(store: Store, key: IdColumn) -> None:
    measured = steps.measure_index(store.shards[0], key, SMALL)
    assert (measured.name, measured.rows) == (key.name, 3 * 8 * 1000)
    length = 16 if "uuid" in key.name else 8
    assert length + 12 < measured.bytes_per_row < 4 * (length + 12)  # a tuple of 8 + key bytes, and 4 to point at it
