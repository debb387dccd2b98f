"""Keys elsewhere than in a primary key of their own: a foreign key's index, and behind a tenant."""

from __future__ import annotations

import numpy as np
from psycopg import sql

from shardflake.bench import copying, wal
from shardflake.bench.keys import Keys
from shardflake.bench.profiles import Profile
from shardflake.bench.section import PAYLOAD, TABLE, Section
from shardflake.bench.workloads.base import Workload

_CHILDREN = 3
_TENANTS = 100


class Secondary(Workload):
    """An index on a foreign key: each parent gets three rows within a short while. Equal keys share one entry in the index."""

    name = "secondary"
    summary = "index on a foreign key, three rows for each parent"
    index = "load_secondary"

    def run(self, section: Section, profile: Profile) -> None:
        parents = section.keys(profile.index_rows // _CHILDREN)
        rows = len(parents) * _CHILDREN
        arrival = np.repeat(np.arange(len(parents)), _CHILDREN) + section.random.exponential(500, rows)
        order = np.argsort(arrival, kind="stable") // _CHILDREN
        self._measure(section, parents[order], np.arange(rows, dtype=np.int64))

    def _measure(self, section: Section, key: Keys, other: Keys) -> None:
        rows = len(key)
        run = section.bench.connection.execute
        run(f"drop table if exists {TABLE}".encode())
        columns = f"id {section.contender.declared}, other bigint, payload text"
        run(f"create table {TABLE} ({columns}) with (autovacuum_enabled = off)".encode())
        run(self.index_ddl().encode())
        section.bench.checkpoint()
        start = wal.position(section.bench)
        data = copying.encode([key, other, PAYLOAD.encode()], rows)
        with section.session() as session:
            names = ["id", "other", "payload"]
            seconds = section.timed(lambda: copying.load(session, sql.Identifier(TABLE), names, data))
        section.sample("rows_per_second", rows / seconds, "rows/s")
        section.sizes(rows, (self.index,))
        if section.block < _WAL_BLOCKS:
            section.written(start, rows, (self.index,))

    def index_ddl(self) -> str:
        """Return the statement that makes the index."""
        return f"create index {self.index} on {TABLE} (id)"


_WAL_BLOCKS = 1
"""WAL of these two is taken apart in the first block alone."""


class Composite(Secondary):
    """An index on (tenant, id), each row of a random one of 100 tenants."""

    name = "composite"
    summary = "index on (tenant, id), 100 tenants"
    index = "load_composite"

    def run(self, section: Section, profile: Profile) -> None:
        made = section.keys(profile.index_rows)
        self._measure(section, made, section.random.integers(_TENANTS, size=len(made)))

    def index_ddl(self) -> str:
        return f"create index {self.index} on {TABLE} (other, id)"
