"""One contender in one case of one workload and block: where its records come from."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import psycopg
from psycopg import sql

from shardflake.bench import copying, index, pgbench, wal
from shardflake.bench.contenders import SCRATCH, Contender
from shardflake.bench.keys import Keys, Stream
from shardflake.bench.scratch import Bench
from shardflake.bench.store import Emit

PAYLOAD = "forty bytes of payload, alike for every r"[:40]
TABLE, INDEX = "load", "load_id"
Params = dict[str, Any]


@dataclass(slots=True)
class Section:
    """Emits records with the place they belong to.

    :param block: 0 is the first; what is the same in every block is measured in it alone.
    """

    bench: Bench
    emit: Emit
    workload: str
    contender: Contender
    block: int
    params: Params = field(default_factory=dict)

    def _record(self, kind: str, **more: Any) -> None:
        place = {"workload": self.workload, "contender": self.contender.name, "block": self.block, "params": self.params}
        self.emit({"kind": kind, **place, **more})

    def sample(self, metric: str, value: float, unit: str) -> None:
        """Emit one number."""
        self._record("sample", metric=metric, value=float(value), unit=unit)

    def samples(self, values: Mapping[str, float], unit: str) -> None:
        """Emit numbers of one unit."""
        for metric, value in values.items():
            self.sample(metric, value, unit)

    def series(self, name: str, x: Sequence[float], y: Sequence[float], x_unit: str, y_unit: str) -> None:
        """Emit numbers that belong together."""
        self._record("series", name=name, x=list(x), y=list(y), x_unit=x_unit, y_unit=y_unit)

    def histogram(self, name: str, edges: Sequence[float], counts: Sequence[int], unit: str) -> None:
        """Emit counts between edges."""
        self._record("histogram", name=name, edges=list(edges), counts=list(counts), unit=unit)

    def heatmap(self, x_edges: Sequence[float], y_edges: Sequence[float], counts: Sequence[Sequence[int]]) -> None:
        """Emit counts by time and place in key order."""
        self._record("heatmap", x_edges=list(x_edges), y_edges=list(y_edges), counts=[list(row) for row in counts])

    def physics(self, quantity: str, formula: str, predicted: float, measured: float, unit: str) -> None:
        """Emit what a formula says beside what was measured: density to 2 points, all else to 1 %."""
        tolerance = 0.02 if quantity == "leaf_density" else 0.01
        values = {"predicted": float(predicted), "measured": float(measured), "tolerance": tolerance}
        self._record("physics", quantity=quantity, formula=formula, unit=unit, **values)

    def finding(self, what: str, count: int, of: int) -> None:
        """Emit a count of what must not be, or had better not be."""
        self._record("finding", what=what, count=int(count), of=int(of))

    def with_params(self, **params: Any) -> Section:
        """Return the section for one of its cases."""
        return Section(self.bench, self.emit, self.workload, self.contender, self.block, {**self.params, **params})

    @property
    def random(self) -> np.random.Generator:
        """Chance: the same for the same seed, workload, block and contender; the baseline and its twin have one."""
        name = zlib.crc32(f"{self.workload}/{self.contender.name.removesuffix('-aa')}".encode())
        return np.random.default_rng([self.bench.seed, name, self.block])

    def stream(self, count: int, **options: Any) -> Stream:
        """Return what keys are made for."""
        return Stream(self.random, count, **options)

    def keys(self, count: int) -> Keys:
        """Return keys made beforehand, or drawn from the server if the contender cannot make them."""
        if self.contender.keys is not None:
            return self.contender.keys(self.stream(count))
        self.make_table()
        query = sql.SQL("select ({})::{} from generate_series(1, {})").format(
            sql.SQL(self.contender.default),  # SQL by whoever runs this, under their own role
            sql.SQL(self.contender.type),
            sql.Literal(count),
        )
        return copying.fetch(self.bench.connection, query)

    def make_table(self, *, declared: str | None = None) -> None:
        """Make an empty table ``load`` with the contender's key and default; what was there is dropped.

        :param declared: a bare type for the key instead, without a default.
        """
        run = self.bench.connection.execute
        run(f"drop table if exists {TABLE}, child; drop sequence if exists {SCRATCH}.ids".encode())
        for statement in self.contender.setup:
            run(statement.encode())
        key = declared or f"{self.contender.declared} default {self.contender.default}"
        run(f"create table {TABLE} (id {key}, payload text) with (autovacuum_enabled = off)".encode())
        if self.contender.unique:
            run(f"alter table {TABLE} add constraint {INDEX} primary key (id)".encode())
        else:
            run(f"create index {INDEX} on {TABLE} (id)".encode())

    def load(self, keys: Keys, session: psycopg.Connection | None = None) -> None:
        """COPY rows with these keys into ``load``."""
        rows = copying.encode([keys, PAYLOAD.encode()], len(keys))
        copying.load(session or self.bench.connection, sql.Identifier(TABLE), ["id", "payload"], rows)

    def timed(self, work: Callable[[], object]) -> float:
        """Return the seconds that something takes."""
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    def sizes(self, rows: int, indexes: Sequence[str] = (INDEX,), table: str = TABLE) -> None:
        """Emit sizes, density and splits of a table that was filled by inserts alone: its leaves are its splits and one."""
        total = sum(index.size(self.bench, each) for each in indexes)
        self.sample("index_bytes", total, "bytes")
        self.sample("index_bytes_per_row", total / rows, "bytes/row")
        self.sample("heap_bytes_per_row", index.size(self.bench, table) / rows, "bytes/row")
        if "pgstattuple" in self.bench.can:
            pages, density = index.density(self.bench, indexes[-1])
            self.sample("leaf_density", density, "1")
            self.sample("splits_per_million", (pages - 1) / rows * 1e6, "1/million rows")

    def written(self, start: int, rows: int, indexes: Sequence[str] = (INDEX,), table: str = TABLE) -> None:
        """Emit what was written to WAL since a position, in all where its parts cannot be told."""
        end = wal.position(self.bench)
        if "pg_walinspect" not in self.bench.can:
            self.sample("wal_bytes_per_row", (end - start) / rows, "bytes/row")
            return
        written = wal.attribute(self.bench, start, end, table, list(indexes))
        self.parts(written, rows)
        for side in ("left", "right", "interior"):
            self.sample(f"splits_per_million_{side}", written.splits[side] / rows * 1e6, "1/million rows")

    def parts(self, written: wal.Written, rows: int) -> None:
        """Emit bytes of WAL a row, by cause."""
        self.sample("wal_bytes_per_row", written.total / rows, "bytes/row")
        for part in ("wal_heap", "wal_index_insert", "wal_split", "wal_index_fpi", "wal_sequence"):
            self.sample(part, written.parts[part] / rows, "bytes/row")
        self.sample("wal_other", written.other / rows, "bytes/row")

    def buffers(self, rows: int) -> None:
        """Emit buffers of the table and its index that sessions, all ended, found in memory or had to read."""
        hits, reads = self.bench.one(
            "select sum(heap_blks_hit + idx_blks_hit), sum(heap_blks_read + idx_blks_read) from pg_statio_all_tables "
            "where relid = %s::regclass",
            TABLE,
        )
        self.sample("buffer_hits_per_row", float(hits or 0) / rows, "1/row")
        self.sample("buffer_reads_per_row", float(reads or 0) / rows, "1/row")

    def correctness(self, rows: int) -> None:
        """Emit how many keys came twice."""
        found, different = self.bench.one(f"select count(*), count(distinct id) from {TABLE}")  # noqa: S608
        if found != rows:
            raise RuntimeError(f"{self.contender.label}: {rows} rows were inserted, the table holds {found}")
        self.finding("duplicates", rows - different, rows)

    def session(self) -> psycopg.Connection:
        """Return a session of its own, with asynchronous commit; it ends with its ``with`` block."""
        connection = psycopg.connect(self.bench.url, autocommit=True, application_name="shardflake bench")
        (path,) = self.bench.one("select current_setting('search_path')")
        connection.execute("select set_config('search_path', %s, false)", (path,))
        connection.execute("set synchronous_commit = off")
        return connection

    def run_pgbench(self, statements: Sequence[str], clients: int, transactions: int, **options: Any) -> pgbench.Load:
        """Run pgbench against the scratch schema."""
        return pgbench.run(self.bench, statements, clients, transactions, **options)
