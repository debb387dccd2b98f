"""The targets, written down before any run, and how a run meets them: pure functions of its samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shardflake.bench.blocks import Sample, by_block, ratio
from shardflake.bench.generator.contenders import AGAIN, BASELINE
from shardflake.bench.statistics import Estimate, estimate

CEILING = 1_024_000
"""Ids per second that the format has room for: 1,024 in every millisecond."""


@dataclass(frozen=True, slots=True)
class Target:
    """One number to reach: ``at_least`` or ``at_most``, not both.

    :param baseline: contender that the value is divided by, within each block; None: the value itself counts.
    :param unit: divides the value, and stands behind it.
    """

    label: str
    workload: str
    metric: str
    at_least: float | None = None
    at_most: float | None = None
    contender: str = "shardflake"
    baseline: str | None = BASELINE
    scale: float = 1
    unit: str = ""
    digits: int = 2

    @property
    def wanted(self) -> str:
        """The target as a table shows it."""
        sign, limit = ("≤", self.at_most) if self.at_least is None else ("≥", self.at_least)
        return f"{sign} {limit:.{self.digits}f}{self.unit}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A target and what was measured.

    :param resolution: factor by which a ratio must differ from 1 to be told from it in this run, by the A/A pair.
    :param verdict: ``pass``, ``miss``, ``~`` (too near to the target to tell: within the resolution, or the 95 % interval spans
        it), or ``-`` (not measured).
    """

    target: Target
    measured: Estimate | None
    resolution: float
    verdict: str


TARGETS = (
    Target("One session in a loop : 1,024 ids/ms", "loop", "ids_per_s", at_least=0.95, baseline=None, scale=CEILING),
    Target(
        "next_ids(10000), net of counting rows", "batches", "ids_per_s", 10, baseline=None, scale=1e6, unit=" M/s", digits=1
    ),
    Target("Bulk rows/s, default : bigserial", "bulk", "rows_per_s", at_least=0.75),
    Target("Bulk rows/s, default : uuidv7()", "bulk", "rows_per_s", at_least=1.3, baseline="uuidv7"),
    Target("Bulk rows/s, next_ids : bigserial", "bulk", "rows_per_s", at_least=1.0, contender="next_ids"),
    Target("Single rows/s, asynchronous commit", "single_async", "rows_per_s", at_least=0.85),
    Target("Single rows/s, synchronous commit", "single_sync", "rows_per_s", at_least=0.97),
    Target("COPY time : nextval default", "copy", "seconds", at_most=1.6),
    Target("Index bytes/row : bigserial", "bulk", "index_bytes_per_row", at_most=1.01, digits=3),
    Target("WAL bytes/row : bigserial", "bulk", "wal_bytes_per_row", at_most=1.01, digits=3),
    Target("ORM add_all of 5,000, statements", "orm", "statements", at_most=10, baseline=None, digits=0),
    Target("Installing on one database", "install", "seconds", at_most=2, baseline=None, unit=" s"),
    Target("shardflake id explain", "explain", "seconds", at_most=0.5, baseline=None, unit=" s"),
)


def outcomes(samples: Sequence[Sample]) -> list[Outcome]:
    """Return every target with what was measured, in the order of the table."""
    return [_outcome(target, samples) for target in TARGETS]


def resolution(samples: Sequence[Sample], workload: str, metric: str) -> float:
    """Return the factor, at least 1, below which two ratios of a metric cannot be told apart: that of bigserial to itself."""
    pair = ratio(samples, workload, metric, AGAIN, BASELINE)
    return pair.resolution if pair else 1.0


def resolved(measured: Estimate, limit: float, factor: float) -> bool:
    """Say whether a mean is farther from a limit than the resolution."""
    return not limit / factor < measured.mean < limit * factor


def _outcome(target: Target, samples: Sequence[Sample]) -> Outcome:
    measured = _measure(target, samples)
    if measured is None:
        return Outcome(target, None, 1.0, "-")
    factor = resolution(samples, target.workload, target.metric) if target.baseline else 1.0
    reached = (target.at_least or 0) <= measured.mean <= (target.at_most or math.inf)
    limit = target.at_most if target.at_least is None else target.at_least
    own = max(measured.high / measured.mean, measured.mean / measured.low)
    if limit is not None and not resolved(measured, limit, max(factor, own)):
        return Outcome(target, measured, factor, "~")
    return Outcome(target, measured, factor, "pass" if reached else "miss")


def _measure(target: Target, samples: Sequence[Sample]) -> Estimate | None:
    if target.baseline is not None:
        return ratio(samples, target.workload, target.metric, target.contender, target.baseline)
    values = by_block(samples, target.workload, target.metric, target.contender)
    return estimate([value / target.scale for value in values.values()]) if len(values) > 1 else None
