"""Measure what a fleet costs: ``python -m shardflake.bench.fleet``. Starts a server of its own and prints a table.

The commands run as programs of their own, as a user starts them, start-up included; memory is the proportional set size (PSS)
of all their processes, sampled while they run.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import psycopg
import sqlalchemy as sa
import typer
from psycopg import sql

from shardflake.bench.environment import describe
from shardflake.cli.output import stderr, stdout
from shardflake.errors import ShardflakeError
from shardflake.fleet.feed import feed
from shardflake.fleet.file import parse
from shardflake.fleet.logical import create
from shardflake.fleet.routing import ShardMap
from shardflake.ids import make_id
from shardflake.server import LocalServer

_LOOKUPS = 100_000


@dataclass(frozen=True, slots=True)
class Measured:
    """A row of the table.

    :param what: was measured.
    :param value: with ``unit``.
    :param limit: the most that it may be.
    """

    what: str
    value: float
    limit: float
    unit: str

    @property
    def met(self) -> bool:
        """Whether the value is within its limit."""
        return self.value <= self.limit


def measure(server: LocalServer, databases: int, fleet: int, feed_shards: int, rows: int, page: int) -> Iterator[Measured]:
    """Measure everything on one server.

    :param databases: to upgrade and check.
    :param fleet: databases of the run whose memory is measured; the first ones are those above.
    :param feed_shards: databases that are merged.
    :param rows: of each shard in the feed.
    :param page: rows that the feed fetches at a time.
    """
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "shards.toml"
        _make(server, file, 0, databases)
        upgrade, upgrade_memory = _run("upgrade", file)
        yield Measured(f"{databases} databases upgraded", upgrade, 60, "s")
        check, _ = _run("check", file)
        yield Measured(f"{databases} databases checked", check, 10, "s")
        shards = ShardMap.of(parse(file.read_text()))
        try:
            first = parse(file.read_text()).shards[0]
            started = time.perf_counter()
            create(first, range(7000, 8000))
            yield Measured("1,000 logical shards created", time.perf_counter() - started, 10, "s")
            yield Measured("routing, for each lookup", _routing(shards) * 1e6, 5, "µs")
            some = ShardMap({name: shards.engines[name] for name in list(shards)[:feed_shards]}, {})
            alive = _feed(some, rows, page)
            yield Measured(
                f"rows in memory, merged feed over {len(some)} shards, {page} a page", alive, len(some) * page, "rows"
            )
        finally:
            for engine in shards.engines.values():
                engine.dispose()
        _make(server, file, databases, fleet)
        memory = max(upgrade_memory, _run("upgrade", file)[1], _run("check", file)[1])
        yield Measured(f"memory, upgrade and check of {fleet} shards", memory / 2**20, 200, "MiB")


def _make(server: LocalServer, file: Path, first: int, last: int) -> None:
    """Create databases, and write the file that lists all of them up to the last."""
    with psycopg.connect(server.url(), autocommit=True) as connection:
        for number in range(first, last):
            name = sql.Identifier(f"fleet_{number}")
            connection.execute(sql.SQL("create database {} template template0 strategy file_copy").format(name))
    entries = (
        f'[[shard]]\nname = "s{number}"\nurl = "{server.url(f"fleet_{number}")}"\nshard_id = {number}\n'
        for number in range(last)
    )
    file.write_text("\n".join(entries))


def _run(command: str, file: Path) -> tuple[float, int]:
    """Run a command on the fleet with two workers; returns seconds, and bytes at its highest.

    :raises ShardflakeError: if it does not succeed.
    """
    words = [sys.executable, "-m", "shardflake", "fleet", command, "--file", str(file), "--jobs", "2", "--format", "json"]
    started, most = time.perf_counter(), 0
    with tempfile.TemporaryFile("w+") as output:
        with subprocess.Popen(words, stdout=output, stderr=subprocess.STDOUT, start_new_session=True) as process:  # noqa: S603
            while process.poll() is None:
                most = max(most, _memory(process.pid))
                time.sleep(0.05)
        seconds = time.perf_counter() - started
        if process.returncode != 0:
            output.seek(0)
            raise ShardflakeError(f"fleet {command} ended with {process.returncode}: {output.read()[-1000:]}")
    return seconds, most


def _memory(group: int) -> int:
    """Return the proportional set size of a process group, in bytes."""
    total = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if int((process / "stat").read_text().rpartition(")")[2].split()[2]) == group:
                fields = (process / "smaps_rollup").read_text().split("\nPss:", 1)
                total += int(fields[1].split()[0]) * 1024
        except (OSError, IndexError):  # it has ended
            continue
    return total


def _routing(shards: ShardMap[sa.Engine]) -> float:
    """Return the seconds of a lookup, without the loop around it; the best of five."""
    id_ = make_id(datetime(2026, 1, 1, tzinfo=UTC), 0)
    engine = shards.engine

    def seconds(work: Callable[[int], object]) -> float:
        started = time.perf_counter()
        for _ in range(_LOOKUPS):
            work(id_)
        return time.perf_counter() - started

    return min(seconds(engine) for _ in range(5)) / _LOOKUPS


def _feed(shards: ShardMap[sa.Engine], rows: int, page: int) -> int:
    """Return how many rows were in memory at most while all shards' rows were merged.

    :raises ShardflakeError: if the feed is not complete, or not in order.
    """
    for engine in shards.engines.values():
        with engine.begin() as connection:
            connection.exec_driver_sql("create table feed (id bigint primary key default shardflake.next_id(), n integer)")
            connection.execute(sa.text("insert into feed (n) select n from generate_series(1, :rows) n"), {"rows": rows})
    table = sa.table("feed", sa.column("id", sa.BigInteger), sa.column("n", sa.Integer))
    count, last, most = 0, -1, 0
    for row in feed(shards, sa.select(table.c.id, table.c.n), table.c.id, page=page):
        if row.id <= last:
            raise ShardflakeError(f"the feed gave {row.id} after {last}")
        if count % (rows * len(shards) // 40 + 1) == 0:
            most = max(most, sum(1 for item in gc.get_objects() if type(item) is type(row)))
        count, last = count + 1, row.id
    if count != rows * len(shards):
        raise ShardflakeError(f"the feed gave {count} rows of {rows * len(shards)}")
    return most


def main(
    databases: Annotated[int, typer.Option(min=1, help="To upgrade and check.")] = 100,
    fleet: Annotated[int, typer.Option(min=1, help="Shards of the run whose memory is measured.")] = 500,
    feed_shards: Annotated[int, typer.Option(min=1, help="Shards that are merged.")] = 64,
    rows: Annotated[int, typer.Option(min=1, help="Rows of each shard in the feed.")] = 1000,
    page: Annotated[int, typer.Option(min=1, help="Rows that the feed fetches at a time.")] = 100,
    pg_bin: Annotated[
        Path | None, typer.Option(help="Directory of initdb and postgres; the embedded server by default.")
    ] = None,
) -> None:
    """Measure upgrading, checking, routing, feeds and memory of a fleet; exit 1 if a limit is missed."""
    console, missed = stdout(), 0
    with ExitStack() as stack:
        server = stack.enter_context(LocalServer(pg_bin, {"shared_buffers": "128MB"}))
        with psycopg.connect(server.url()) as connection:
            around = describe(connection, 0)
        console.print(
            f"{around['server'].split(' on ')[0]}, {around['cores']} cores, {around['cpu']}, commit {around['commit']}"
        )
        console.print("| what | measured | at most |\n|---|---|---|")
        for result in measure(server, databases, max(fleet, databases), min(feed_shards, databases), rows, page):
            value = f"{result.value:.3g}" if result.value < 1000 else f"{result.value:.0f}"
            console.print(f"| {result.what} | {value} {result.unit} | {result.limit:g} {result.unit} |")
            missed += not result.met
    if missed:
        stderr().print(f"{missed} limits missed")
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
