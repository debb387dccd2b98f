"""The feed: its reader gets every row, where one that remembers the largest id loses some."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from shardflake import install
from shardflake.connect import make_engine
from shardflake.feed import Feed
from shardflake.server import LocalServer
from tests.conftest import dsn

TABLE = "create table orders (id bigint primary key default shardflake.next_id(), who text)"
Reader = Callable[[], list[int]]


@pytest.fixture
def orders(connection: psycopg.Connection) -> psycopg.Connection:
    connection.execute(TABLE)
    return connection


@pytest.fixture
def open_session(shard: sa.Engine) -> Iterator[Callable[[], psycopg.Connection]]:
    """Opens further sessions, each in a transaction."""
    opened: list[psycopg.Connection] = []

    def make() -> psycopg.Connection:
        opened.append(psycopg.connect(dsn(shard)))
        return opened[-1]

    yield make
    for session in opened:
        session.close()


def naive(connection: psycopg.Connection) -> Reader:
    """A reader that remembers the largest id it saw."""
    last = [0]

    def read() -> list[int]:
        found = ids(connection, last[0], 2**63 - 1)
        last[0] = max([last[0], *found])
        return found

    return read


def snapshot_only(connection: psycopg.Connection) -> Reader:
    """A reader that stops at rows of transactions at or after the oldest one with a transaction id."""
    last = [0]

    def read() -> list[int]:
        query = (
            "select id from orders where id > %s "
            "and xmin::text::bigint < pg_snapshot_xmin(pg_current_snapshot())::text::bigint order by id"
        )
        found = [row[0] for row in connection.execute(query, [last[0]])]
        last[0] = max([last[0], *found])
        return found

    return read


def settled(connection: psycopg.Connection) -> Reader:
    """A reader that stops at the horizon."""
    position, fence, waiting = [0], [None], [None]

    def read() -> list[int]:
        row = connection.execute("select * from shardflake.feed_horizon(%s, %s)", [fence[0], waiting[0]]).fetchone()
        assert row is not None
        horizon, fence[0], waiting[0] = row
        found = ids(connection, position[0], horizon) if horizon is not None else []
        position[0] = max([position[0], *found])
        return found

    return read


def ids(connection: psycopg.Connection, above: int, below: int) -> list[int]:
    query = "select id from orders where id > %s and id < %s order by id"
    return [row[0] for row in connection.execute(query, [above, below])]


def insert(connection: psycopg.Connection, who: str) -> int:
    row = connection.execute("insert into orders (who) values (%s) returning id", [who]).fetchone()
    assert row is not None
    return int(row[0])


def drain(read: Reader) -> list[int]:
    """Read until two polls find nothing: the first of them may have been about an earlier fence."""
    found: list[int] = []
    empty = 0
    while empty < 2:
        found += (rows := read())
        empty = 0 if rows else empty + 1
    return found


@pytest.mark.parametrize(("reader", "loses"), [(naive, True), (settled, False)])
def test_a_row_that_commits_late(
    orders: psycopg.Connection, open_session: Callable[[], psycopg.Connection], reader: Callable[..., Reader], loses: bool
) -> None:
    read = reader(orders)
    slow = open_session()
    late = insert(slow, "slow")
    early = insert(orders, "fast")
    assert late < early
    found = drain(read)
    slow.commit()
    found += drain(read)
    assert found == ([early] if loses else [late, early])


@pytest.mark.parametrize(("reader", "loses"), [(naive, True), (snapshot_only, True), (settled, False)])
def test_an_id_that_was_drawn_before_the_transaction_wrote(
    orders: psycopg.Connection, open_session: Callable[[], psycopg.Connection], reader: Callable[..., Reader], loses: bool
) -> None:
    insert(orders, "first")  # raises the high-water mark, so that the draw below needs no transaction id
    read = reader(orders)
    first = drain(read)
    slow = open_session()
    row = slow.execute("select shardflake.next_id()").fetchone()
    assert slow.execute("select pg_current_xact_id_if_assigned()").fetchone() == (None,)
    assert row is not None
    early = insert(orders, "fast")
    found = drain(read)
    slow.execute("insert into orders values (%s, 'slow')", row)
    slow.commit()
    found += drain(read)
    assert len(first) == 1
    assert found == ([early] if loses else [row[0], early])


def test_a_draw_in_a_savepoint_that_was_rolled_back_still_counts(
    orders: psycopg.Connection, open_session: Callable[[], psycopg.Connection]
) -> None:
    read = settled(orders)
    slow = open_session()
    slow.execute("savepoint s")
    row = slow.execute("select shardflake.next_id()").fetchone()
    slow.execute("rollback to s")
    early = insert(orders, "fast")
    found = drain(read)
    slow.execute("insert into orders values (%s, 'slow')", row)
    slow.commit()
    assert row is not None
    assert found + drain(read) == [row[0], early]


def test_ids_of_logical_shards_and_batches(
    shard: sa.Engine, orders: psycopg.Connection, open_session: Callable[[], psycopg.Connection]
) -> None:
    install.assign(shard, 5, logical_shards=[7, 1])
    read = settled(orders)
    slow = open_session()
    slow.execute("insert into orders (id) select shardflake.next_id(7) from generate_series(1, 50)")
    slow.execute("insert into orders (id) select * from shardflake.next_ids(3000)")
    orders.execute("insert into orders (id) select shardflake.next_id(1) from generate_series(1, 50)")
    found = drain(read)
    assert found == []
    slow.commit()
    assert len(drain(read)) == 3100


def test_a_row_is_delivered_by_the_next_poll(orders: psycopg.Connection) -> None:
    read = settled(orders)
    for turn in range(200):
        last = insert(orders, str(turn))
        assert read() == [last]


def test_a_transaction_that_only_reads_does_not_hold_the_feed_back(
    orders: psycopg.Connection, open_session: Callable[[], psycopg.Connection]
) -> None:
    insert(orders, "before")
    dump = open_session()
    dump.execute("set transaction isolation level repeatable read")
    dump.execute("select * from orders")
    assert len(drain(settled(orders))) == 1


def test_transactions_that_overlap_for_ever_do_not_stop_the_feed(
    orders: psycopg.Connection, open_session: Callable[[], psycopg.Connection]
) -> None:
    read = settled(orders)
    sessions = [open_session(), open_session()]
    found: list[int] = []
    inserted = [insert(sessions[0], "0")]
    for turn in range(1, 20):  # there is always one that runs
        inserted.append(insert(sessions[turn % 2], str(turn)))
        found += read()
        sessions[(turn + 1) % 2].commit()
        found += read()
    assert len(found) >= 17
    assert found == inserted[: len(found)]


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_a_horizon_for_an_old_snapshot_is_refused(orders: psycopg.Connection, level: str) -> None:
    orders.execute(f"begin isolation level {level}")
    with pytest.raises(psycopg.Error, match="of no use") as raised:
        orders.execute("select * from shardflake.feed_horizon()")
    assert raised.value.sqlstate == "SF040"


def test_half_a_state_is_refused(orders: psycopg.Connection) -> None:
    with pytest.raises(psycopg.Error, match="do not belong together") as raised:
        orders.execute("select * from shardflake.feed_horizon(5, null)")
    assert raised.value.sqlstate == "SF040"


def test_a_reader_needs_no_more_than_the_function(orders: psycopg.Connection) -> None:
    insert(orders, "one")
    orders.execute("create role feed_reader; grant usage on schema shardflake to feed_reader")
    try:
        orders.execute("grant execute on function shardflake.feed_horizon(bigint, text[]) to feed_reader")
        orders.execute("grant select on orders to feed_reader; set role feed_reader")
        assert len(drain(settled(orders))) == 1
    finally:
        orders.execute("reset role; drop owned by feed_reader; drop role feed_reader")


def load(database: str, seconds: float, seed: int) -> list[int]:
    """Insert for a while, in transactions of several statements that last up to 60 ms; return what was committed."""
    committed: list[int] = []
    numbers = random.Random(seed)
    end = time.monotonic() + seconds
    with psycopg.connect(database) as connection:
        while time.monotonic() < end:
            mine = []
            for _ in range(numbers.randint(1, 5)):
                mine.append(insert(connection, str(seed)))
                time.sleep(numbers.random() * 0.012)
            if numbers.random() < 0.2:
                connection.rollback()
            else:
                connection.commit()
                committed += mine
    return committed


@pytest.mark.parametrize(("reader", "loses"), [(naive, True), (settled, False)])
def test_under_load(shard: sa.Engine, orders: psycopg.Connection, reader: Callable[..., Reader], loses: bool) -> None:
    read = reader(orders)
    committed: list[int] = []
    threads = [threading.Thread(target=lambda seed=seed: committed.extend(load(dsn(shard), 3, seed))) for seed in range(6)]
    for thread in threads:
        thread.start()
    found: list[int] = []
    during = 0
    while any(thread.is_alive() for thread in threads):
        found += read()
        time.sleep(0.002)
    during = len(found)
    for thread in threads:
        thread.join()
    found += drain(read)
    assert found == sorted(set(found))
    assert (sorted(committed) != found) == loses
    assert loses or during > len(committed) / 2


def test_a_prepared_transaction_holds_the_feed_back(request: pytest.FixtureRequest) -> None:
    pg_bin: Path | None = request.config.getoption("--pg-bin")
    with LocalServer(pg_bin, {"fsync": "off", "max_prepared_transactions": "5"}) as server:
        engine = make_engine(server.url())
        install.upgrade(engine, 5)
        with psycopg.connect(server.url(), autocommit=True) as orders, psycopg.connect(server.url()) as slow:
            orders.execute(TABLE)
            read = settled(orders)
            late = insert(slow, "slow")
            early = insert(orders, "fast")
            assert read() == []
            slow.execute("prepare transaction 'one'")  # after the fence of the first reader, before that of the second
            second = settled(orders)
            assert drain(read) == drain(second) == []
            insert(slow, "later, and unknown to both fences")
            slow.execute("prepare transaction 'two'")
            orders.execute("commit prepared 'one'")
            assert read() == second() == [late, early]
            orders.execute("rollback prepared 'two'")


def test_a_prepared_transaction_holds_the_feed_back_over_a_crash(request: pytest.FixtureRequest) -> None:
    pg_bin: Path | None = request.config.getoption("--pg-bin")
    with LocalServer(pg_bin, {"max_prepared_transactions": "5"}) as server:
        install.upgrade(make_engine(server.url()), 5)
        with psycopg.connect(server.url(), autocommit=True) as orders, psycopg.connect(server.url()) as slow:
            orders.execute(TABLE)
            late = insert(slow, "slow")
            state = orders.execute("select fence, waiting from shardflake.feed_horizon()").fetchone()
            slow.execute("prepare transaction 'one'")
        server.stop("immediate")
        server.start()
        with psycopg.connect(server.url(), autocommit=True) as orders:
            query = "select * from shardflake.feed_horizon(%s, %s)"
            still = orders.execute(query, state).fetchone()
            assert still is not None
            assert still[0] is None
            assert still[2] != []
            orders.execute("commit prepared 'one'")
            settled_now = orders.execute(query, still[1:]).fetchone()
            assert settled_now is not None
            assert settled_now[0] > late


def test_the_horizon_of_the_python_feed(shard: sa.Engine, open_session: Callable[[], psycopg.Connection]) -> None:
    feed = Feed()
    with shard.connect() as connection:
        connection.execute(sa.text(TABLE))
        connection.commit()
        slow = open_session()
        late = insert(slow, "slow")
        assert feed.poll(connection) <= late
        connection.commit()
        slow.commit()
        assert feed.poll(connection) > late
        assert feed.poll(connection) == feed.horizon
