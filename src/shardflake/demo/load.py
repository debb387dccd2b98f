"""Sessions that write at the same time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from random import Random
from threading import Event
from typing import LiteralString

import psycopg
from psycopg import sql
from sqlalchemy.orm import Session

from shardflake.demo.store import Shard, new_customer

WRITERS = 8
"""Sessions of a bulk load on one database."""

ROWS_PER_STATEMENT = 1000

CUSTOMERS_PER_COMMIT = 25

Job = Callable[[Event], None]
"""What one session does; it ends early once the event is set."""


@dataclass(frozen=True, slots=True)
class IdColumn:
    """A kind of key to compare.

    :param name: for people.
    :param table: the table that the bulk load makes for it.
    :param definition: type and default of its column ``id``.
    """

    name: str
    table: str
    definition: LiteralString


INSTAGRAM = IdColumn("Instagram's function", "scans_instagram", "bigint not null default instagram.next_id()")
SHARDFLAKE = IdColumn("shardflake", "scans", "bigint not null default shardflake.next_id()")


def create_table(shard: Shard, column: IdColumn, constraint: LiteralString = "") -> None:
    """Create the table of a bulk load: parcel scans, sent by handheld scanners.

    :param constraint: of the column ``id``; without one, nothing keeps duplicates out, so that they can be counted.
    """
    statement = sql.SQL("create table {} (id {} {}, scanner integer not null, parcel integer not null)")
    with psycopg.connect(shard.url) as connection:
        connection.execute(statement.format(sql.Identifier(column.table), sql.SQL(column.definition), sql.SQL(constraint)))


def bulk_load(shards: Sequence[Shard], column: IdColumn, statements: int, alongside: Sequence[Job] = ()) -> float:
    """Insert from eight sessions on every shard at once, and return how long it took, in seconds.

    :param column: whose table to fill.
    :param statements: that each session runs, of 1,000 rows each.
    :param alongside: further jobs that run at the same time.
    """
    with ExitStack() as connections:
        jobs = list(alongside)
        for shard in shards:
            for scanner in range(WRITERS):
                connection = connections.enter_context(psycopg.connect(shard.url, autocommit=True))
                jobs.append(partial(_scan, connection, column.table, scanner, statements))
        start = time.perf_counter()
        run_together(jobs)
        return time.perf_counter() - start


def _scan(connection: psycopg.Connection, table: str, scanner: int, statements: int, stop: Event) -> None:
    insert = sql.SQL("insert into {} (scanner, parcel) select %s, %s + n from generate_series(1, %s) as n")
    for number in range(statements):
        if stop.is_set():
            return
        values = (scanner, number * ROWS_PER_STATEMENT, ROWS_PER_STATEMENT)
        connection.execute(insert.format(sql.Identifier(table)), values)


def add_customers(shard: Shard, customers: int, keys: dict[int, str], stop: Event) -> None:
    """Add customers with their orders and order lines through the ORM; the database makes every id.

    :param keys: filled with the id and the reference of every order, as the objects know them afterwards.
    """
    random = Random(shard.shard_id)  # noqa: S311
    for first in range(0, customers, CUSTOMERS_PER_COMMIT):
        if stop.is_set():
            return
        with Session(shard.engine, expire_on_commit=False) as session:
            numbers = range(first, min(first + CUSTOMERS_PER_COMMIT, customers))
            added = [new_customer(shard.name, number, random) for number in numbers]
            session.add_all(added)
            session.commit()
            keys.update({order.id: order.reference for customer in added for order in customer.orders})


def run_together(jobs: Sequence[Job]) -> None:
    """Run jobs in a thread each. If one fails, or on Ctrl-C, the others end after the statement at hand."""
    stop = Event()
    with ThreadPoolExecutor(len(jobs)) as pool:
        futures = [pool.submit(job, stop) for job in jobs]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            stop.set()
    for future in done:
        future.result()
