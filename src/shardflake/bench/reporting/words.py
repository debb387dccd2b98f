"""What stands in tables and sentences: names of metrics and workloads, numbers, tables, sections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from shardflake.bench.statistics import Ratio
from shardflake.bench.storage import Params

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Shape(Enum):
    """For what width a chart is drawn; a page holds both and shows one."""

    WIDE = "wide"
    NARROW = "narrow"


@dataclass(frozen=True, slots=True)
class Metric:
    """How a metric is shown.

    :param less: whether less of it is better; None where neither is.
    """

    label: str
    digits: int = 1
    less: bool | None = True


NOTHING = "–"  # noqa: RUF001
"""Stands in a table where nothing was measured."""

METRICS = {
    "index_bytes_per_row": Metric("index, bytes/row"),
    "heap_bytes_per_row": Metric("table, bytes/row"),
    "index_bytes": Metric("index, bytes", 0),
    "leaf_density": Metric("leaf density", 3, less=False),
    "splits_per_million": Metric("splits per million rows", 0),
    "wal_bytes_per_row": Metric("WAL, bytes/row"),
    "wal_index_fpi": Metric("index page images, bytes/row"),
    "fpi_bytes": Metric("page image, bytes", 0),
    "images_per_row": Metric("page images per row", 3),
    "leaf_pages_dirtied": Metric("leaf pages dirtied", 0),
    "inversions_per_million": Metric("inversions per million keys", 0),
    "disorder_distance": Metric("disorder distance, keys", 0),
    "rows_per_second": Metric("rows/s", 0, less=False),
    "cpu_us_per_row": Metric("CPU, µs/row", 2),
    "latency_p50_us": Metric("latency p50, µs", 0),
    "latency_p95_us": Metric("latency p95, µs", 0),
    "latency_p99_us": Metric("latency p99, µs", 0),
    "latency_p999_us": Metric("latency p99.9, µs", 0),
    "looks": Metric("looks at sessions", 0, less=None),
    "waiting_lwlock": Metric("waiting, LWLock", 2),
    "waiting_lock": Metric("waiting, Lock", 2),
    "waiting_io": Metric("waiting, IO", 2),
    "waiting_ipc": Metric("waiting, IPC", 2),
    "buffer_hits_per_row": Metric("buffer hits per row", 2),
    "buffer_reads_per_row": Metric("buffer reads per row", 3),
    "read_us": Metric("read, µs"),
    "us_per_key": Metric("µs per key", 3),
    "seconds": Metric("seconds", 3),
}

WORKLOADS = {
    "bulk": "bulk load",
    "autocommit": "autocommit rows",
    "transactions50": "50-row transactions",
    "disorder": "disorder sweep",
    "migration": "migration",
    "reads": "reads",
    "retention": "retention",
    "secondary": "secondary index",
    "composite": "(tenant, id) index",
    "checkpoint": "checkpoints",
    "generator": "generator alone",
    "overhead": "the runner itself",
}

WAL_PARTS = {
    "wal_heap": "table",
    "wal_index_insert": "index insert",
    "wal_split": "split",
    "wal_index_fpi": "index page images",
    "wal_sequence": "sequence",
    "wal_other": "other",
}


@dataclass(frozen=True, slots=True)
class Table:
    """A table: every row has as many cells as there are headings; a first column of names, the rest numbers or short words."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""


@dataclass(slots=True)
class Section:
    """One part of the report.

    :param sentence: what the numbers support, computed from them.
    :param draw: draws the chart in a given shape; None for a section of tables alone.
    :param alt: what the chart shows, for those who do not see it.
    :param missing: why there is nothing to show; then all else is empty.
    """

    name: str
    title: str
    sentence: str = ""
    draw: Callable[[Shape], Figure] | None = None
    alt: str = ""
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    missing: str = ""


def metric_label(metric: str) -> str:
    """Return a metric's name for people."""
    return METRICS[metric].label if metric in METRICS else metric.replace("_", " ")


def workload_label(workload: str) -> str:
    """Return a workload's name for people."""
    return WORKLOADS.get(workload, workload.replace("_", " "))


def told(params: Params, without: Iterable[str] = ()) -> str:
    """Return a case in words, such as "8 clients, cached"."""
    words = []
    for name, value in params:
        if name in without or value is None:
            continue
        if isinstance(value, str):
            words.append(value)
        elif name in ("rows", "clients"):
            words.append(f"{value:,} {name}" if value != 1 else f"1 {name[:-1]}")
        else:
            words.append(f"{name} {value:,}" if isinstance(value, int) else f"{name} {value:g}")
    return ", ".join(words)


def number(value: float, metric: str) -> str:
    """Return a value with the digits that its metric has."""
    return f"{value:,.{METRICS[metric].digits if metric in METRICS else 2}f}"


def significant(value: float) -> str:
    """Return a value with three significant digits, thousands separated."""
    size = abs(value)
    return f"{value:,.{0 if size >= 100 else 1 if size >= 10 else 2 if size >= 0.1 else 4}f}"


def megabytes(value: float) -> str:
    """Return a size in bytes as MB of 2^20 bytes, as the server's settings count them."""
    return f"{significant(value / 2**20)} MB"


def ratio_cell(ratio: Ratio | None) -> str:
    """Return a ratio for a table: the mean and its interval, ``~`` for what may not be claimed."""
    if ratio is None:
        return ""
    if ratio.estimate is None:
        return f"~ ({ratio.mean:.2f} in one block)"
    return f"{ratio.text()} ({ratio.interval()})"


def compact(value: float) -> str:
    """Return a value with as few digits as tell it apart on a chart: 0.02, 1.5, 1,000."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def percent(share: float) -> str:
    """Return a share as a whole percentage."""
    return f"{share * 100:.0f} %"


def names(labels: Sequence[str]) -> str:
    """Return a list in words: "a", "a and b", "a, b and c"."""
    return " and ".join([", ".join(labels[:-1]), labels[-1]] if len(labels) > 1 else labels)


def plural(count: int, noun: str) -> str:
    """Return a count and a noun: "1 block", "4 blocks"."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
