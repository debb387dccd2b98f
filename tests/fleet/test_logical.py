"""Logical shards: cheap to make, and moved to another server under load without an id twice or a row lost."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from datetime import timedelta

import psycopg
import pytest
import sqlalchemy as sa
from psycopg.errors import lookup

from shardflake import install
from shardflake.errors import ClockError, InstallationError, ShardIdError
from shardflake.fleet.file import Shard
from shardflake.fleet.logical import create, move
from tests.cli.conftest import Run
from tests.conftest import dsn
from tests.fleet.conftest import TestFleet, owned
from tests.sql.test_functions import scalar


def test_a_thousand_are_made_at_once_and_share_the_generator(
    make_fleet: Callable[..., TestFleet], run_fleet: Run, installed_template: str
) -> None:
    fleet = make_fleet(2, installed_template)
    for number in (0, 1):
        install.assign(fleet.engines[number], number)
    functions = "select count(*) from pg_proc where pronamespace = 'shardflake'::regnamespace"
    before = fleet.scalar(0, functions)
    started = time.monotonic()
    assert "issues ids of 1000 further shards" in run_fleet("create-logical", "1000-1999", "--on", "s0").stdout
    assert time.monotonic() - started < 10
    assert fleet.scalar(0, functions) == before
    run_fleet("create-logical", "7,9", "--on", "s0")
    assert run_fleet("list-logical").stdout == "shard\tissues ids of\ns0\t0, 7, 9, 1000-1999\ns1\t1\n"
    assert json.loads(run_fleet("list-logical", "--format", "json").stdout)["shards"]["s1"] == [1]
    for number in (1999, 7, 0):
        assert fleet.scalar(0, f"select shardflake.shard_of(shardflake.next_id({number}))") == number
    assert "is that of s1" in run_fleet("create-logical", "1", "--on", "s0", code=2).stderr
    for wrong in ("x", "9-8", "8192", ""):
        run_fleet("create-logical", wrong, "--on", "s0", code=2)


def test_eight_sessions_at_once_lose_none(make_shard: Callable[[int], sa.Engine]) -> None:
    engine = make_shard(5)
    threads = [threading.Thread(target=create, args=(Shard("a", dsn(engine)), [100 + number])) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert owned(Shard("a", dsn(engine))) == [5, *range(100, 108)]


class Client(threading.Thread):
    """Inserts rows of shard 77 into whichever side takes them, and remembers the ids that were committed."""

    REFUSED = (lookup("42P01"), lookup("3F000"))  # no such table or schema

    def __init__(self, shards: tuple[Shard, Shard], stop: threading.Event) -> None:
        super().__init__()
        self.ids: list[int] = []
        self.sides: list[int] = []
        self.errors: list[Exception] = []
        self._shards, self._stop_now = shards, stop

    def run(self) -> None:
        connections = [psycopg.connect(shard.conninfo, autocommit=True) for shard in self._shards]
        side = 0
        try:
            while not self._stop_now.is_set():
                try:
                    row = connections[side].execute("insert into shard_77.orders (n) values (1) returning id").fetchone()
                except psycopg.Error as error:
                    if not isinstance(error, self.REFUSED) and error.sqlstate != "SF009":
                        raise
                    side = 1 - side
                    continue
                assert row is not None
                self.ids.append(row[0])
                self.sides.append(side)
        except Exception as error:
            self.errors.append(error)
        finally:
            for connection in connections:
                connection.close()


def under_load(pair: tuple[Shard, Shard], act: Callable[[], object]) -> list[Client]:
    """Do something while three clients insert."""
    stop = threading.Event()
    clients = [Client(pair, stop) for _ in range(3)]
    for client in clients:
        client.start()
    try:
        time.sleep(0.5)
        act()
        time.sleep(0.5)
    finally:
        stop.set()
        for client in clients:
            client.join()
    assert [client.errors for client in clients] == [[], [], []]
    return clients


def stored(shard: Shard) -> set[int]:
    with psycopg.connect(shard.conninfo) as connection:
        return {number for (number,) in connection.execute("select id from shard_77.orders")}


def test_a_logical_shard_is_moved_under_load(pair: tuple[Shard, Shard]) -> None:
    source, target = pair
    with psycopg.connect(source.conninfo, autocommit=True) as connection:
        connection.execute("insert into shard_77.customers (name) values ('a')")
        connection.execute(
            "insert into shard_77.orders (customer_id, n) select id, n from shard_77.customers, generate_series(1, 2000) n"
        )
        first = {number for (number,) in connection.execute("select id from shard_77.orders")}
    clients = under_load(pair, lambda: move(source, target, 77, schema="shard_77"))
    ids = [number for client in clients for number in client.ids]
    assert len(ids) == len(set(ids))
    assert stored(target) == first | set(ids)
    assert {side for client in clients for side in client.sides} == {0, 1}
    for client in clients:  # once the target has begun, its ids lie above all of the source's
        assert client.ids == sorted(client.ids)
    last = max(number for client in clients for number, side in zip(client.ids, client.sides, strict=True) if side == 0)
    assert last < min(number for client in clients for number, side in zip(client.ids, client.sides, strict=True) if side == 1)
    assert (owned(source), owned(target)) == ([1], [2, 77])
    with psycopg.connect(source.conninfo) as connection:
        with pytest.raises(psycopg.Error) as caught:
            connection.execute("select shardflake.next_id(77)")
        assert caught.value.sqlstate == "SF009"


def test_a_move_that_does_not_refuse_first_gives_an_id_twice_or_loses_rows(pair: tuple[Shard, Shard]) -> None:
    source, target = pair

    def careless() -> None:
        with psycopg.connect(source.conninfo) as there, psycopg.connect(target.conninfo) as here:
            rows = there.execute("select id, n from shard_77.orders").fetchall()
            time.sleep(0.2)
            here.cursor().executemany("insert into shard_77.orders (id, n) values (%s, %s)", rows)
            here.execute("select shardflake.add_logical_shards(array[77])")
            here.commit()
            there.execute("alter schema shard_77 rename to shard_77_moved")

    clients = under_load(pair, careless)
    assert stored(target) != {number for client in clients for number in client.ids}


def test_the_target_goes_on_above_a_source_whose_clock_is_ahead(pair: tuple[Shard, Shard]) -> None:
    source, target = pair
    with psycopg.connect(source.conninfo, autocommit=True) as there, psycopg.connect(target.conninfo, autocommit=True) as here:
        for connection in (there, here):
            scalar(connection, "select shardflake.next_id()")
        here.execute("select setval('shardflake._peak', 21)")
        ahead = int(scalar(there, "select shardflake.next_id(77)")) + (5000 << 23)  # as a clock 5 s ahead would draw
        with pytest.raises(psycopg.Error) as caught:
            here.execute("select shardflake.add_logical_shards(array[77], %s)", (ahead + (10_000 << 23),))
        assert caught.value.sqlstate == "SF005"
        here.execute("select shardflake.add_logical_shards(array[77], %s)", (ahead,))
        drawn = [scalar(here, "select shardflake.next_id(77)") for _ in range(3000)]
        assert drawn == sorted(set(drawn))
        assert drawn[0] > ahead
        assert (
            scalar(here, "select extract(epoch from high_water) * 1000 from shardflake.status()") - 1735689600000 > ahead >> 23
        )
        assert scalar(here, "select ids_per_ms_peak from shardflake.status()") == 21


def test_a_transaction_of_the_source_that_outlasts_the_patience_stops_the_move(pair: tuple[Shard, Shard]) -> None:
    source, target = pair
    with psycopg.connect(source.conninfo) as old:
        old.execute("insert into shard_77.orders (n) values (1)")
        with pytest.raises(InstallationError, match=r"1 transactions .* nobody issues ids"):
            move(source, target, 77, schema="shard_77", patience=0.3)
        assert (owned(source), owned(target)) == ([1], [2])
        old.commit()
    moved = move(source, target, 77, schema="shard_77")
    assert (moved.rows, moved.left_in) == (1, "shard_77_moved")


def test_what_cannot_be_moved_is_refused(pair: tuple[Shard, Shard]) -> None:
    source, target = pair
    with pytest.raises(ShardIdError, match="own, not a logical one"):
        move(source, target, 1)
    with pytest.raises(InstallationError, match="does not issue ids of shard 78"):
        move(source, target, 78)
    with pytest.raises(InstallationError, match="the source has no schema nothing"):
        move(source, target, 77, schema="nothing")
    with psycopg.connect(target.conninfo, autocommit=True) as connection:
        connection.execute("alter table shard_77.orders rename n to m")
        with pytest.raises(InstallationError, match=r"lacks the columns n of shard_77\.orders"):
            move(source, target, 77, schema="shard_77")
        connection.execute("drop table shard_77.orders")
        with pytest.raises(InstallationError, match=r"lacks the table shard_77\.orders"):
            move(source, target, 77, schema="shard_77")
    assert owned(source) == [1, 77]
    create(target, [77])
    with pytest.raises(InstallationError, match="both databases"):
        move(source, target, 77)


def test_the_right_to_issue_ids_moves_alone(pair: tuple[Shard, Shard]) -> None:
    source, target = pair
    with psycopg.connect(source.conninfo, autocommit=True) as connection:
        last = scalar(connection, "select shardflake.next_id(77)")
    moved = move(source, target, 77)
    assert (moved.rows, moved.left_in) == (0, None)
    assert moved.bound >= last
    with psycopg.connect(target.conninfo, autocommit=True) as connection:
        assert scalar(connection, "select shardflake.next_id(77)") > moved.bound
    with pytest.raises(InstallationError, match="does not issue"):
        move(source, target, 77)
    with psycopg.connect(target.conninfo, autocommit=True) as connection:
        connection.execute("select shardflake.remove_logical_shards(array[77])")
    move(source, target, 77, resume=True)
    assert owned(target) == [2, 77]


def test_a_limit_of_the_lead_holds_for_what_was_moved_too(make_shard: Callable[[int], sa.Engine]) -> None:
    engine = make_shard(5)
    install.assign(engine, 5, max_lead=timedelta(0))
    with pytest.raises(ClockError, match="ahead of the clock here"), install.transaction(engine) as connection:
        connection.exec_driver_sql("select shardflake.add_logical_shards(array[7], (shardflake._tick() + 500) << 23)")
