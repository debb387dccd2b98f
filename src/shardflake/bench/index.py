"""What an index looks like, from pgstattuple and pageinspect."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shardflake.bench.scratch import Bench
from shardflake.bench.tree import USABLE


@dataclass(frozen=True, slots=True)
class Leaf:
    """One leaf page: its number, the next one in key order (0: none), and the part of its space that is used."""

    number: int
    next: int
    fill: float


def size(bench: Bench, relation: str) -> int:
    """Return a relation's size in bytes."""
    return bench.one("select pg_relation_size(%s::regclass)", relation)[0]


def density(bench: Bench, index: str) -> tuple[int, float]:
    """Return the number of leaves and the part of their space that is used, 0 to 1, exact to 0.0001."""
    pages, part = bench.one("select leaf_pages, avg_leaf_density from pgstatindex(%s)", index)
    return pages, float(part) / 100


def leaves(bench: Bench, index: str) -> list[Leaf]:
    """Return the leaves in key order."""
    many = (
        "bt_multi_page_stats(%(index)s::text, 1, pages)"
        if bench.connection.info.server_version >= 160000
        else "generate_series(1, pages) as page, bt_page_stats(%(index)s::text, page)"
    )
    query = (
        "select blkno, btpo_next, btpo_prev, free_size from "  # noqa: S608
        "(select pg_relation_size(%(index)s::regclass) / 8192 - 1 as pages) as p, " + many + " as s where type in ('l', 'r') "
        "and btpo_level = 0"
    )
    rows = bench.connection.execute(query.encode(), {"index": index}).fetchall()
    by_number = {number: Leaf(number, following, 1 - free / USABLE) for number, following, _, free in rows}
    at = next((number for number, _, before, _ in rows if before == 0), 0)
    chain = []
    while at in by_number:
        chain.append(by_number[at])
        at = by_number[at].next
    return chain


def histogram(chain: list[Leaf], bins: int = 20) -> tuple[list[float], list[int]]:
    """Return edges from 0 to 1 and how many leaves are filled to each."""
    counts, edges = np.histogram([leaf.fill for leaf in chain], bins=bins, range=(0, 1))
    return [round(float(edge), 6) for edge in edges], [int(count) for count in counts]
