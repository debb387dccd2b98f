"""Reads through the index, by lists of keys that are known: never by OFFSET."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from psycopg import sql

from shardflake.bench import copying
from shardflake.bench.keys import Keys
from shardflake.bench.profiles import Profile
from shardflake.bench.section import TABLE, Params, Section
from shardflake.bench.workloads.base import Workload

_PAGE = 50
QUERIES = {
    "point": f"select count(l.payload) from child c cross join lateral (select payload from {TABLE} l where l.id = c.id) l",  # noqa: S608
    "window": f"select count(l.payload) from recent c cross join lateral (select payload from {TABLE} l where l.id = c.id) l",  # noqa: S608
    "page": f"select count(l.payload) from pages c cross join lateral "  # noqa: S608
    f"(select payload from {TABLE} l where l.id > c.id order by l.id limit {_PAGE}) l",
    "join": f"select count(l.payload) from child c join {TABLE} l using (id)",  # noqa: S608
    "scan": f"select count(payload) from (select payload from {TABLE} order by id offset 0) l",  # noqa: S608
}
"""``child`` holds random keys, ``recent`` the newest hundredth, ``pages`` where pages start."""

_BY_INDEX = (
    "set enable_seqscan = off; set enable_bitmapscan = off; set enable_sort = off; set max_parallel_workers_per_gather = 0"
)


class Reads(Workload):
    """Point lookups, the newest rows, keyset pages, a join, and a scan in the order of the index; all in memory."""

    name = "reads"
    summary = "point lookups, newest rows, keyset pages, a join and an index-order scan, warm"

    def cases(self, profile: Profile) -> Iterator[Params]:
        yield {"memory": "cached"}

    def run(self, section: Section, profile: Profile) -> None:
        made = section.keys(profile.index_rows)
        section.make_table(declared=section.contender.declared)
        section.load(made)
        lookups = max(100, profile.index_rows // 20)
        lists = {
            "child": made[section.random.choice(len(made), lookups, replace=False)],
            "recent": made[-max(100, len(made) // 100) :],
            "pages": made[section.random.choice(len(made), max(10, lookups // _PAGE), replace=False)],
        }
        for name, chosen in lists.items():
            self._list(section, name, chosen)
        section.bench.connection.execute(f"vacuum (analyze) {TABLE}".encode())
        with section.session() as session:
            session.execute(_BY_INDEX.encode())
            for query, text in QUERIES.items():
                session.execute(f"set enable_hashjoin = {'on' if query == 'join' else 'off'}".encode())
                session.execute(f"set enable_seqscan = {'on' if query == 'join' else 'off'}".encode())
                self._query(section.with_params(query=query), session, text, len(lists[_list_of(query)]))

    def _list(self, section: Section, name: str, chosen: Keys) -> None:
        run = section.bench.connection.execute
        run(f"drop table if exists {name}; create table {name} (id {section.contender.declared})".encode())
        rows = copying.encode([chosen], len(chosen))
        copying.load(section.bench.connection, sql.Identifier(name), ["id"], rows)
        run(f"analyze {name}".encode())

    def _query(self, section: Section, session: Any, text: str, lookups: int) -> None:
        """Time a query once it is warm: µs per lookup or page, or per whole join or scan."""
        plans = []
        for _ in range(4):
            (found,) = session.execute(f"explain (analyze, buffers, timing off, format json) {text}".encode()).fetchone()
            plans.append(found[0] if not isinstance(found, str) else json.loads(found)[0])
        warm = [plan["Execution Time"] for plan in plans[1:]]
        each = lookups if section.params["query"] in ("point", "window", "page") else 1
        section.sample("read_us", float(np.median(warm)) * 1000 / each, "µs")
        section.sample("buffer_hits", plans[-1]["Plan"]["Shared Hit Blocks"] / each, "1")
        section.sample("buffer_reads", plans[-1]["Plan"]["Shared Read Blocks"] / each, "1")


def _list_of(query: str) -> str:
    return {"window": "recent", "page": "pages"}.get(query, "child")
