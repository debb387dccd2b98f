"""Tickets: dense, divided over two databases, leased in blocks; and the gap-free kind with what it locks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
import sqlalchemy as sa

from shardflake import install
from shardflake.errors import ConnectionFailedError, TicketError
from shardflake.tickets import TicketPool
from tests.conftest import dsn
from tests.orm.conftest import driver_url
from tests.pools.test_pools import draw_in_child
from tests.sql.test_generator import refused

INVOICE = "select shardflake.next_invoice_number('invoice')"


@pytest.fixture
def engine(shard: sa.Engine) -> Iterator[sa.Engine]:
    """A shard with a series of orders, and a gap-free one of invoices."""
    made = sa.create_engine(driver_url(shard, "psycopg"))
    with made.begin() as connection:
        connection.execute(sa.text("select shardflake.create_tickets('order')"))
        connection.execute(sa.text("select shardflake.create_tickets('invoice', 1000, gap_free => true)"))
    yield made
    made.dispose()


def test_numbers_are_dense_over_all_threads(engine: sa.Engine) -> None:
    pools = [TicketPool(engine, "order", block=10) for _ in range(2)]
    with ThreadPoolExecutor(4) as executor:
        parts = list(executor.map(lambda n: [pools[n % 2].next_number() for _ in range(100)], range(4)))
    assert sorted(number for part in parts for number in part) == list(range(1, 401))
    assert sum(pool.metrics.leases for pool in pools) == 40


def test_parent_and_child_share_no_number(engine: sa.Engine) -> None:
    pool = TicketPool(engine, "order", block=10)
    first = pool.next_number()
    child = draw_in_child(lambda: [pool.next_number() for _ in range(12)])
    assert (first, pool.next_number()) == (1, 2)
    assert child == list(range(11, 23))


def test_two_databases_share_a_series_by_odd_and_even(make_shard: Callable[[int], sa.Engine]) -> None:
    engines = [make_shard(5), make_shard(6)]
    for first, engine in enumerate(engines, 1):
        with engine.begin() as connection:
            connection.execute(sa.text("select shardflake.create_tickets('order', :first, 2)"), {"first": first})
    pool = TicketPool(engines, "order", block=5)
    assert [pool.next_number() for _ in range(12)] == [1, 3, 5, 7, 9, 2, 4, 6, 8, 10, 11, 13]
    unreachable = sa.create_engine("postgresql+psycopg://postgres@127.0.0.1:1/none")
    pool = TicketPool([unreachable, engines[1]], "order", block=2)
    assert [pool.next_number() for _ in range(5)] == [12, 14, 16, 18, 20]
    assert pool.metrics.passed_over == 3
    with pytest.raises(ConnectionFailedError):
        TicketPool(unreachable, "order").next_number()


def test_a_range_ends(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.execute(sa.text("select shardflake.create_tickets('short', 10, last_number => 14)"))
    pool = TicketPool(engine, "short", block=5)
    assert [pool.next_number() for _ in range(5)] == [10, 11, 12, 13, 14]
    with pytest.raises(TicketError, match="series 'short' ends at 14"):
        pool.next_number()


def test_series_and_arguments_are_checked(engine: sa.Engine) -> None:
    with psycopg.connect(dsn(engine), autocommit=True) as connection:
        refused(connection, "select shardflake.lease_tickets('none', 1)", "SF033", "there is no series 'none' of this kind")
        refused(
            connection, "select shardflake.lease_tickets('invoice', 1)", "SF033", "there is no series 'invoice' of this kind"
        )
        refused(
            connection, "select shardflake.next_invoice_number('order')", "SF033", "there is no series 'order' of this kind"
        )
        refused(connection, "select shardflake.lease_tickets('order', 0)", "SF033", "cannot take 0 tickets")
        refused(connection, "select shardflake.create_tickets('order')", "SF033", "there is a series 'order' already")
        refused(connection, "select shardflake.create_tickets('x', -1)", "SF033", "no series starts at -1")
        refused(connection, "select shardflake.create_tickets('x', increment => null)", "SF033", "steps by")
    with pytest.raises(ValueError, match="a block of 0"):
        TicketPool(engine, "order", block=0)
    with pytest.raises(ValueError, match="needs an engine"):
        TicketPool([], "order")


def test_an_invoice_number_is_given_back_by_a_rollback_and_locks_until_the_end(engine: sa.Engine) -> None:
    with psycopg.connect(dsn(engine)) as first, psycopg.connect(dsn(engine)) as second:
        assert first.execute(INVOICE).fetchone() == (1000,)
        second.execute("set lock_timeout = '200ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            second.execute(INVOICE)
        second.rollback()
        first.rollback()
        assert second.execute(INVOICE).fetchone() == (1000,)
        waiting = threading.Thread(target=first.execute, args=(INVOICE,))
        waiting.start()
        time.sleep(0.2)
        assert waiting.is_alive()
        second.commit()
        waiting.join(5)
        assert first.execute("select next_number from shardflake._ticket where series = 'invoice'").fetchone() == (1002,)


def test_invoices_of_many_sessions_have_no_gap(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.execute(sa.text("create table invoices (number bigint)"))

    def work(number: int) -> None:
        with psycopg.connect(dsn(engine)) as connection:
            for attempt in range(30):
                connection.execute(f"insert into invoices {INVOICE}")
                connection.rollback() if (attempt + number) % 3 == 0 else connection.commit()

    with ThreadPoolExecutor(4) as executor:
        list(executor.map(work, range(4)))
    with engine.connect() as connection:
        numbers = sorted(connection.scalars(sa.text("select number from invoices")))
    assert numbers == list(range(1000, 1080))


def test_a_failover_skips_numbers_of_a_series_but_of_no_gap_free_one(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.execute(sa.text("select shardflake.create_tickets('odd', 1, 2, failover_skip => 100)"))
        connection.execute(sa.text("update shardflake._ticket set incarnation = 'the one before the failover'"))
    assert [TicketPool(engine, "odd", 2).next_number() for _ in range(2)] == [101, 105]
    assert TicketPool(engine, "order").next_number() == 100_001
    with engine.begin() as connection:
        assert connection.scalar(sa.text(INVOICE)) == 1000
    assert install.check(engine) == ""


def test_a_role_may_take_tickets_and_nothing_else(engine: sa.Engine) -> None:
    with psycopg.connect(dsn(engine), autocommit=True) as connection:
        connection.execute("create role seller")
        try:
            connection.execute("select shardflake.grant_ticket_usage('seller')")
            connection.execute("set role seller")
            assert connection.execute(INVOICE).fetchone() == (1000,)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("update shardflake._ticket set next_number = 1")
        finally:
            connection.execute("reset role")
            connection.execute("drop owned by seller")
            connection.execute("drop role seller")
