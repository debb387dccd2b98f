"""What it costs to import rows with ids of their historical times: ``python -m shardflake.bench.backfill``.

Imports the same rows in the same batches into three tables, by turns: ids of ``backfill_ids()``, ids of ``next_id()`` by
the column's default, and bigserial. Prints a Markdown table, which ``--page docs/backfill.md`` also puts between the marks
``<!-- backfill -->`` of a page.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from shardflake import install
from shardflake.bench.environment import cpu_model
from shardflake.bench.marks import put_between
from shardflake.bench.statistics import estimate
from shardflake.connect import make_engine
from shardflake.server import LocalServer

ROWS = 1_000_000
BATCH = 10_000
ROUNDS = 5
_LABELS = {
    "backfill": "`backfill_ids()`: the rows' own times",
    "live": "`next_id()` by default: the time of the import",
    "serial": "`bigserial`",
}
_TABLES = """
    create table old_orders (id integer primary key, created_at timestamptz not null, item text not null);
    create index on old_orders (created_at, id);
    create table backfill (id bigint primary key, old_id integer not null, item text not null);
    create table live (id bigint primary key default shardflake.next_id(), old_id integer not null, item text not null);
    create table serial (id bigserial primary key, old_id integer not null, item text not null);
    select shardflake.reserve_backfill_shards('{900}');
"""
_FILL = """
    insert into old_orders
    select n, timestamptz '2025-02-01 00:00+00' + n * interval '20 seconds', 'forty bytes of payload, alike for every r'
      from generate_series(1, %s) n
"""
_IMPORTS = {
    "backfill": """
        with batch as (
          select row_number() over (order by created_at, id) as n, created_at, id, item
            from old_orders where id > %(after)s and id <= %(until)s order by created_at, id
        )
        insert into backfill (id, old_id, item)
        select i.id, b.id, b.item
          from batch b
          join shardflake.backfill_ids(900, (select array_agg(created_at order by n) from batch))
               with ordinality as i (id, n) using (n)
         order by n
    """,
    "live": """
        insert into live (old_id, item)
        select id, item from old_orders where id > %(after)s and id <= %(until)s order by created_at, id
    """,
    "serial": """
        insert into serial (old_id, item)
        select id, item from old_orders where id > %(after)s and id <= %(until)s order by created_at, id
    """,
}


def measure(rows: int, batch: int, rounds: int) -> tuple[dict[str, list[float]], int]:
    """Import the rows into each table, a share of them each round, in an order that goes round.

    :returns: rows per second of each round by table, and the server's version.
    """
    found: dict[str, list[float]] = {name: [] for name in _IMPORTS}
    share = rows // rounds
    with LocalServer(settings={"max_wal_size": "4GB"}) as server:
        install.upgrade(make_engine(server.url()), shard_id=5)
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(_TABLES)
            connection.execute(_FILL, (rows,))
            connection.execute("vacuum analyze old_orders")
            for number in range(rounds):
                names = list(_IMPORTS)
                for name in names[number % 3 :] + names[: number % 3]:
                    connection.execute("checkpoint")
                    started = time.perf_counter()
                    for after in range(number * share, (number + 1) * share, batch):
                        until = min(after + batch, (number + 1) * share)
                        connection.execute(_IMPORTS[name].encode(), {"after": after, "until": until})
                    found[name].append(share / (time.perf_counter() - started))
            return found, connection.info.server_version


def table(found: dict[str, list[float]], server: int, rows: int, batch: int) -> str:
    """Return the figures as a Markdown table, with what they were measured on."""
    lines = ["| ids | rows/s | to bigserial |", "|---|---:|---:|"]
    for name, label in _LABELS.items():
        ratio = estimate([ours / theirs for ours, theirs in zip(found[name], found["serial"], strict=True)])
        interval = "1" if name == "serial" else f"{ratio.mean:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"
        lines.append(f"| {label} | {estimate(found[name]).mean:,.0f} | {interval} |")
    surroundings = (
        f"PostgreSQL {server // 10000}.{server % 10000}, {cpu_model()} ({os.cpu_count()} cores), {datetime.now(UTC):%Y-%m-%d}"
    )
    what = f"{rows:,} rows in batches of {batch:,}, {len(found['serial'])} rounds, in brackets the 95 % interval"
    return "\n".join([*lines, "", f"Measured by `python -m shardflake.bench.backfill`: {what}; {surroundings}.", ""])


def main(arguments: list[str] | None = None) -> int:
    """Measure, print and, if asked, write into a page; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m shardflake.bench.backfill", description="Measure imports of old rows.")
    parser.add_argument("--page", type=Path, help="a Markdown page with the marks <!-- backfill --> and <!-- /backfill -->")
    parser.add_argument("--rows", type=int, default=ROWS, help="rows to import into each table")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="shares to import them in, at least 2")
    options = parser.parse_args(arguments)
    text = table(*measure(options.rows, BATCH, options.rounds), options.rows, BATCH)
    sys.stdout.write(text)
    if options.page is not None:
        try:
            put_between(options.page, "backfill", text)
        except ValueError as error:
            parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
