"""Bulk load from keys made beforehand: what the index alone costs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shardflake.bench import index, keys, tree, wal
from shardflake.bench.keys import Keys
from shardflake.bench.pgbench import reaped, reaped_since
from shardflake.bench.profiles import Profile
from shardflake.bench.section import INDEX, Params, Section
from shardflake.bench.workloads.base import Workload

_CHUNKS = 20
_PLACES = 40


class Bulk(Workload):
    """COPY keys into an empty table, in twenty steps whose speed is taken one by one."""

    name = "bulk"
    summary = "load keys made beforehand by COPY: sizes, splits, WAL by cause, speed against size"

    def cases(self, profile: Profile) -> Iterator[Params]:
        yield {"rows": profile.bulk_rows, "memory": "cached"}
        if profile.uncached_rows:
            yield {"rows": profile.uncached_rows, "memory": "uncached"}

    def run(self, section: Section, profile: Profile) -> None:
        rows = section.params["rows"]
        made = section.keys(rows)
        section.make_table(declared=section.contender.declared)
        section.bench.checkpoint()
        marks, times = self._load(section, made)
        section.sizes(rows)
        section.buffers(rows)
        section.correctness(rows)
        inversions = keys.descents(made)
        section.finding("order_inversions", inversions, rows - 1)
        section.sample("inversions_per_million", inversions / rows * 1e6, "1/million rows")
        section.sample("disorder_distance", keys.distance(made), "keys")
        if section.block < profile.wal_blocks and rows == profile.bulk_rows:
            section.written(marks[0], rows)
        if section.block == 0 and rows == profile.bulk_rows:
            self._pages(section, marks, times)
            predict(section, made)

    def _load(self, section: Section, made: Keys) -> tuple[list[int], list[float]]:
        """Load, emit speed, and return positions in WAL and seconds since the start, at the start and after each step."""
        rows = len(made)
        marks, times = [wal.position(section.bench)], [0.0]
        cpu = reaped(section.bench)
        ends, rates = [], []
        with section.session() as session:
            for piece in np.array_split(np.arange(rows), _CHUNKS):
                chunk = made[piece[0] : piece[-1] + 1]
                seconds = section.timed(lambda chunk=chunk: section.load(chunk, session))  # type: ignore[misc]
                marks.append(wal.position(section.bench))
                times.append(times[-1] + seconds)
                ends.append(int(piece[-1]) + 1)
                rates.append(len(piece) / seconds)
        section.sample("rows_per_second", rows / times[-1], "rows/s")
        used = reaped_since(section.bench, cpu, "shardflake bench", 1)
        if used is not None:
            section.sample("cpu_us_per_row", used / rows * 1e6, "µs/row")
        section.series("insert_rate_by_rows", ends, rates, "rows", "rows/s")
        return marks, times

    def _pages(self, section: Section, marks: list[int], times: list[float]) -> None:
        """Emit how full the leaves are, how many were written, and a map of which were, over time."""
        if "pageinspect" not in section.bench.can:
            return
        chain = index.leaves(section.bench, INDEX)
        section.histogram("leaf_fill", *index.histogram(chain), "1")
        if "pg_walinspect" not in section.bench.can:
            return
        rows = min(_PLACES, len(chain))
        places = {leaf.number: number * rows // len(chain) for number, leaf in enumerate(chain)}
        counts = wal.touched(section.bench, marks, INDEX, places, rows)
        section.heatmap([round(time, 6) for time in times], [round(edge / rows, 6) for edge in range(rows + 1)], counts)
        section.sample("leaf_pages_dirtied", sum(map(sum, counts)) / len(counts[0]), "pages")


def predict(section: Section, made: Keys, formula: str = "leaf_model") -> tree.Shape | None:
    """Emit what the formulas say of an index that these keys built, beside what was measured."""
    if "pgstattuple" not in section.bench.can:
        return None
    rows = len(made)
    width = (made.shape[1] if made.ndim == 2 else 8) + (section.contender.type == "text")
    ordered = keys.descents(made) == 0
    shape = tree.ascending(rows, width) if ordered else tree.grow(keys.ranks(made).tolist(), width)
    pages, density = index.density(section.bench, INDEX)
    names = ("ascending_bytes", "ascending_splits", "ascending_density") if ordered else (formula,) * 3
    size = index.size(section.bench, INDEX)
    section.physics("index_bytes_per_row", names[0], shape.bytes / rows, size / rows, "bytes/row")
    section.physics("splits_per_million", names[1], shape.splits / rows * 1e6, (pages - 1) / rows * 1e6, "1/million rows")
    section.physics("leaf_density", names[2], shape.density, density, "1")
    return shape
