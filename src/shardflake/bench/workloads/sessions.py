"""Sessions that insert rows by the column's default, through pgbench."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shardflake.bench import keys, wal
from shardflake.bench.profiles import Profile
from shardflake.bench.section import PAYLOAD, TABLE, Params, Section
from shardflake.bench.workloads.base import Workload

INSERT = f"insert into shardflake_bench.{TABLE} (payload) values ('{PAYLOAD}')"  # noqa: S608


class Sessions(Workload):
    """Insert rows from several sessions at once, prepared, with latencies from pgbench's log."""

    needs = frozenset({"pgbench"})
    live = True
    rows_each = 1

    def cases(self, profile: Profile) -> Iterator[Params]:
        for clients in profile.clients:
            yield {"clients": clients}

    def run(self, section: Section, profile: Profile) -> None:
        clients = section.params["clients"]
        transactions = max(1, profile.session_rows // (clients * self.rows_each))
        rows = transactions * clients * self.rows_each
        section.make_table()
        section.bench.checkpoint()
        start = wal.position(section.bench)
        done = section.run_pgbench(self.statements(), clients, transactions)
        section.sample("rows_per_second", done.transactions_per_second * self.rows_each, "rows/s")
        section.samples(done.percentiles(), "µs")
        section.sample("looks", done.looks.total(), "")
        section.samples(done.waits(), "share")
        if done.cpu_s is not None:
            section.sample("cpu_us_per_row", done.cpu_s / rows * 1e6, "µs/row")
        end = wal.position(section.bench)
        section.sizes(rows)
        section.buffers(rows)
        section.correctness(rows)
        if section.block < profile.wal_blocks:
            section.written(start, rows)
            emit_order(section, start, end, rows)

    def statements(self) -> list[str]:
        """Return one transaction."""
        return [INSERT]


class Autocommit(Sessions):
    """One row a transaction."""

    name = "autocommit"
    summary = "single rows, each its own transaction: speed and latency by sessions"


class Transactions50(Sessions):
    """Fifty rows a transaction."""

    name = "transactions50"
    summary = "fifty single-row statements a transaction: speed and latency by sessions"
    rows_each = 50

    def statements(self) -> list[str]:
        return ["begin", *[INSERT] * self.rows_each, "commit"]


def emit_order(section: Section, start: int, end: int, rows: int) -> Any:
    """Emit how far rows came in the order of their keys; return the disorder distance, None if it cannot be seen."""
    if "pg_walinspect" not in section.bench.can:
        return None
    drawn = wal.inserted(section.bench, start, end, TABLE)
    inversions, distance = keys.descents(drawn), keys.distance(drawn)
    section.finding("order_inversions", inversions, rows - 1)
    section.sample("inversions_per_million", inversions / rows * 1e6, "1/million rows")
    section.sample("disorder_distance", distance, "keys")
    return distance
