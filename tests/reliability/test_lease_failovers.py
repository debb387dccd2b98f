"""Failovers from A to B and back with blocks and leases in the applications' hands: nothing is given out twice."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from shardflake.errors import NoLeaseError
from shardflake.ids import decode
from shardflake.pools import IdPool
from shardflake.server import LocalServer
from shardflake.tickets import TicketPool
from shardflake.workers import WorkerGenerator
from tests.reliability.attack import Clock, attacked_server, replace_function
from tests.reliability.failover import copy_from, wait_for_replay, without_mark


class Switch:
    """An engine whose connections go to whichever server is the primary now, as behind a virtual address."""

    def __init__(self, server: LocalServer) -> None:
        self.server = server
        self.engine = sa.create_engine("postgresql+psycopg://", creator=self._connect, poolclass=sa.NullPool)

    def _connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.server.url(), connect_timeout=2)


@contextmanager
def standby_of(primary: LocalServer) -> Iterator[tuple[LocalServer, Clock]]:
    standby = LocalServer(primary.bin_dir)
    try:
        clock = Clock(standby)
        copy_from(primary, standby)
        standby.start()
        yield standby, clock
    finally:
        standby.remove()


def lose_touch(primary: LocalServer, standby: LocalServer) -> None:
    """Let the standby catch up, and hear nothing more."""
    with psycopg.connect(primary.url(), autocommit=True) as old, psycopg.connect(standby.url(), autocommit=True) as new:
        wait_for_replay(old, new)
        new.execute("alter system set primary_conninfo = ''")
        new.execute("select pg_reload_conf()")
        while new.execute("select count(*) from pg_stat_wal_receiver").fetchone() != (0,):
            time.sleep(0.02)


def fail_over(primary: LocalServer, standby: LocalServer, clock: Clock, skew: float) -> None:
    """Crash the primary, and promote the standby with its clock ahead of the machine's by so many seconds."""
    primary.stop("immediate")
    clock.set(skew)
    with psycopg.connect(standby.url(), autocommit=True) as connection:
        connection.execute("select pg_promote()")


def as_it_is_and(control: str) -> list[Any]:
    """Give the values of ``broken``, the control on one version of the server."""
    return [pytest.param(False, id="as it is"), pytest.param(True, id=control, marks=pytest.mark.once)]


@pytest.mark.parametrize("broken", as_it_is_and("without the mark"))
def test_blocks_are_not_reissued_from_a_to_b_and_back(bin_dir: Path | None, broken: bool) -> None:
    """Vitess's case: applications go on drawing from blocks that the new primary never heard of."""
    with attacked_server(bin_dir) as first:
        if broken:
            with psycopg.connect(first.url(), autocommit=True) as connection:
                without_mark(connection)
        switch = Switch(first)
        pools = [IdPool(switch.engine, block=5000, max_age=600) for _ in range(3)]
        held = [pool.next_id() for pool in pools]
        with standby_of(first) as (second, clock):
            lose_touch(first, second)
            held += [value for pool in pools for value in pool.next_ids(7500)]  # blocks in reserve, too
            # in the control the clock is set to before the blocks: one that is ahead covers for the mark
            skew = decode(max(held)).time.timestamp() - time.time() - 1.5 if broken else -0.8
            fail_over(first, second, clock, skew)
            switch.server = second
            held += [value for pool in pools for value in pool.next_ids(10_000)]
            afterwards = 3_000_000 if broken else 300_000
            held += IdPool(switch.engine, block=102_400).next_ids(afterwards)
            with standby_of(second) as (back, clock):
                lose_touch(second, back)
                held += [value for pool in pools for value in pool.next_ids(7500)]
                fail_over(second, back, clock, skew - 0.8)
                switch.server = back
                held += [value for pool in pools for value in pool.next_ids(20_000)]
                for pool in pools:
                    pool.close()
    assert len(held) == 3 + 3 * 45_000 + afterwards
    assert (len(set(held)) < len(held)) == broken


def _forty_ticks(generator: WorkerGenerator) -> list[int]:
    try:
        return generator.next_ids(40 * 1024)
    except NoLeaseError:
        return []


@pytest.mark.parametrize("broken", as_it_is_and("without the wait"))
def test_a_lease_that_the_new_primary_never_heard_of_runs_out_first(bin_dir: Path | None, broken: bool) -> None:
    with attacked_server(bin_dir) as first:
        with psycopg.connect(first.url(), autocommit=True) as connection:
            connection.execute("select shardflake.reserve_worker_ids(7000, 7003, '5 s')")
            if broken:
                replace_function(
                    connection,
                    "claim_worker(text,integer)",
                    ("if v_now < v_terms.since + 2 * v_terms.ttl then", "if false then"),
                )
        switch, cut_off = Switch(first), Switch(first)
        options = {"margin": 0.3, "renew_every": 0.4, "timeout": 0.0}
        known = WorkerGenerator(switch.engine, **{**options, "timeout": 5}).start()  # type: ignore[arg-type]
        with standby_of(first) as (second, clock):
            lose_touch(first, second)
            forgotten = WorkerGenerator(cut_off.engine, **{**options, "timeout": 5}).start()  # type: ignore[arg-type]
            assert (known.worker, forgotten.worker) == (7000, 7001)
            forgotten._timeout = 0
            fail_over(first, second, clock, 0.0)
            switch.server = second
            newcomer = WorkerGenerator(switch.engine, **options)  # type: ignore[arg-type]
            received: list[int] = []
            refused = 0
            ends = time.monotonic() + (6 if broken else 13)  # the wait is two leases of 5 s, which outlast a slow promotion
            with ThreadPoolExecutor(3) as together:  # each fills forty ticks, more than their clocks differ
                while time.monotonic() < ends:
                    for ids in together.map(_forty_ticks, (known, forgotten, newcomer)):
                        received += ids
                        refused += not ids
                    time.sleep(0.5)
            assert newcomer.worker == 7001
            assert known.metrics.claims == 1  # it went on, by the token that the new primary knew
            assert refused > 0
            for generator in (known, forgotten, newcomer):
                generator.close()
    assert (len(set(received)) < len(received)) == broken


@pytest.mark.torture
@pytest.mark.parametrize("skip", [1000, 0])
def test_tickets_of_lost_blocks_are_skipped(bin_dir: Path | None, skip: int) -> None:
    with attacked_server(bin_dir) as first:
        with psycopg.connect(first.url(), autocommit=True) as connection:
            connection.execute("select shardflake.create_tickets('order', failover_skip => %s)", (skip,))
        switch = Switch(first)
        pool = TicketPool(switch.engine, "order", block=100)
        numbers = [pool.next_number()]
        with standby_of(first) as (second, clock):
            lose_touch(first, second)
            numbers += [pool.next_number() for _ in range(150)]
            fail_over(first, second, clock, 0.0)
            switch.server = second
            numbers += [pool.next_number() for _ in range(150)]
    assert (len(set(numbers)) == len(numbers)) == (skip > 0)
