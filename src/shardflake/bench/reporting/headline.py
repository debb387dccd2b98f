"""The first table of the report, and the ratios that earlier measurements lead one to expect."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from shardflake.bench.reporting.summary import Row, Summary
from shardflake.bench.reporting.words import (
    METRICS,
    NOTHING,
    Section,
    Table,
    metric_label,
    names,
    number,
    plural,
    ratio_cell,
    told,
    workload_label,
)
from shardflake.bench.statistics import SAME

COLUMNS = (
    ("bulk", "index_bytes_per_row"),
    ("bulk", "leaf_density"),
    ("bulk", "wal_bytes_per_row"),
    ("bulk", "rows_per_second"),
    ("autocommit", "rows_per_second"),
)


@dataclass(frozen=True, slots=True)
class Expected:
    """A ratio, or a value where ``below`` is None, that theory or published measurements put into a range."""

    label: str
    workload: str
    metric: str
    above: str
    below: str | None
    low: float
    high: float
    where: tuple[tuple[str, Any], ...] = ()
    inverse: bool = False
    digits: int = 2


EXPECTED = (
    Expected("index, UUIDv7 : bigserial", "bulk", "index_bytes_per_row", "uuidv7", "bigserial", 1.39, 1.43),
    Expected("index, UUIDv4 : UUIDv7", "bulk", "index_bytes_per_row", "uuidv4", "uuidv7", 1.23, 1.36),
    Expected("index, UUIDv4 : bigserial", "bulk", "index_bytes_per_row", "uuidv4", "bigserial", 1.75, 1.90),
    Expected("index, shardflake : bigserial", "bulk", "index_bytes_per_row", "shardflake", "bigserial", 0.99, 1.01, digits=3),
    Expected("index, milliseconds-only UUIDv7, bytes/row", "bulk", "index_bytes_per_row", "uuidv7-ms", None, 43, 47, digits=1),
    Expected(
        "insert time in cache, UUIDv4 : UUIDv7",
        "bulk",
        "rows_per_second",
        "uuidv4",
        "uuidv7",
        1.5,
        3,
        (("memory", "cached"),),
        inverse=True,
    ),
    Expected(
        "insert time out of cache, UUIDv4 : UUIDv7",
        "bulk",
        "rows_per_second",
        "uuidv4",
        "uuidv7",
        2.8,
        12,
        (("memory", "uncached"),),
        inverse=True,
    ),
    Expected("scan in index order, UUIDv4 : UUIDv7", "reads", "read_us", "uuidv4", "uuidv7", 2, 3, (("query", "scan"),)),
    Expected("point lookup, warm, UUIDv4 : UUIDv7", "reads", "read_us", "uuidv4", "uuidv7", 0.9, 1.1, (("query", "point"),)),
    Expected(
        "deleting the oldest tenth, UUIDv4 : bigserial",
        "retention",
        "seconds",
        "uuidv4",
        "bigserial",
        5,
        20,
        (("phase", "delete"),),
    ),
)
"""Written down before any run. The last two ranges stand for "about 1" and "about 10 times"."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an expected ratio.

    :param verdict: ``inside``, ``outside``, ``~`` (the interval reaches across a bound, or one block gave none), or ``-``.
    """

    expected: Expected
    mean: float | None
    interval: str
    verdict: str


def outcomes(summary: Summary) -> list[Outcome]:
    """Return every expected ratio with what was measured."""
    return [_outcome(expected, summary) for expected in EXPECTED]


def headline(summary: Summary) -> Section:
    """Return the table of contenders: levels of the deterministic metrics, ratios with their intervals."""
    columns = [
        (workload, metric, params)
        for workload, metric in COLUMNS
        if (params := summary.main_case(workload, metric)) is not None
    ]
    section = Section("headline", "At a glance")
    if not columns:
        section.missing = "This run has no bulk load and no single-row inserts."
        return section
    results = summary.results
    shown = {row.key.contender for workload, metric, params in columns for row in summary.across(workload, metric, params)}
    cells = [
        [results.label(name), *(_cell(summary.get(workload, metric, name, params)) for workload, metric, params in columns)]
        for name in sorted(shown, key=results.order)
        if name != results.twin
    ]
    band = ["resolution (A/A)", *(_band(summary, *column) for column in columns)]
    headings = ["key", *(_column(workload, metric) for workload, metric, _ in columns)]
    section.tables = [Table(headings, [*cells, band])]
    cases = dict.fromkeys(f"{workload_label(workload)}: {told(params)}" for workload, _, params in columns if told(params))
    section.notes = [
        f"A cell holds the value, and below it the ratio to {results.label(results.baseline)} with its 95 % interval over "
        f"{plural(summary.blocks, 'block')}. {SAME} stands for a ratio that this run does not tell from 1: it lies inside the "
        "A/A band, its interval spans 1, or there were not two blocks to take an interval from.",
        *([f"Cases: {'; '.join(cases)}."] if cases else []),
        "A B-tree that is built in key order fills its leaves to 90 %: the free tenth is PostgreSQL's fillfactor, kept for "
        "later updates, and no bloat.",
    ]
    section.sentence = _sentence(summary, columns)
    return section


def expectations(summary: Summary) -> Section:
    """Return the table of expected ratios, and say of each that falls outside that it does."""
    found = outcomes(summary)
    section = Section("expected", "Against what was expected")
    rows = []
    for outcome in found:
        expected = outcome.expected
        wanted = f"{expected.low:.{expected.digits}f} to {expected.high:.{expected.digits}f}"
        measured = "not measured" if outcome.mean is None else f"{outcome.mean:.{expected.digits}f}"
        rows.append([expected.label, wanted, measured, outcome.interval, outcome.verdict])
    section.tables = [Table(["ratio", "expected", "measured", "95 % interval", "verdict"], rows)]
    outside = [outcome for outcome in found if outcome.verdict == "outside"]
    measured_count = sum(outcome.mean is not None for outcome in found)
    if outside:
        listed = "; ".join(f"{each.expected.label} is {each.mean:.{each.expected.digits}f}" for each in outside)
        section.sentence = f"{len(outside)} of {measured_count} measured ratios lie outside the expected range: {listed}."
    elif measured_count:
        open_ = sum(outcome.verdict == SAME for outcome in found)
        section.sentence = f"None of the {measured_count} measured ratios lies outside its expected range" + (
            f"; {open_} with an interval that reaches across a bound, or without one, must stay open." if open_ else "."
        )
    else:
        section.missing, section.tables = "This run measured none of the ratios that have an expected range.", []
    return section


def _outcome(expected: Expected, summary: Summary) -> Outcome:
    params = summary.main_case(expected.workload, expected.metric, **dict(expected.where))
    if params is None:
        return Outcome(expected, None, "", "-")
    if expected.below is None:
        row = summary.get(expected.workload, expected.metric, expected.above, params)
        if row is None:
            return Outcome(expected, None, "", "-")
        mean, found = row.level, row.interval
    else:
        ratio = summary.ratio(expected.workload, expected.metric, expected.above, expected.below, params)
        if ratio is None:
            return Outcome(expected, None, "", "-")
        mean, found = ratio.mean, ratio.estimate
    low, high = (found.low, found.high) if found else (0.0, math.inf)  # one block decides nothing
    if expected.inverse:
        mean, low, high = 1 / mean, 1 / high, 1 / low if low else math.inf
    inside, ends = expected.low <= mean <= expected.high, (expected.low <= low, high <= expected.high)
    apart = high < expected.low or low > expected.high
    verdict = "inside" if inside and all(ends) else "outside" if apart else SAME
    text = f"{low:.{expected.digits}f} to {high:.{expected.digits}f}" if found else "one block"
    return Outcome(expected, mean, text, verdict)


def _cell(row: Row | None) -> str:
    if row is None:
        return NOTHING
    value = number(row.level, row.key.metric)
    return value if row.ratio is None else f"{value}\n{ratio_cell(row.ratio)}"


def _band(summary: Summary, workload: str, metric: str, params: Any) -> str:
    twin = summary.get(workload, metric, summary.results.twin, params)
    band = twin.ratio.resolution if twin and twin.ratio else None
    if band is None:
        return "unknown"
    return f"±{(band - 1) * 100:.{1 if band < 1.1 else 0}f} %" if band < 2 else f"factor {band:.3g}"


def _sentence(summary: Summary, columns: list[tuple[str, str, Any]]) -> str:
    """Say which keys lie furthest behind the baseline, of those that are told from it, and where ours lies."""
    results, parts = summary.results, []
    for workload, metric, params in columns:
        less = METRICS[metric].less
        worse = [
            (abs(math.log(row.ratio.mean)), row.ratio.mean, results.label(row.key.contender))
            for row in summary.across(workload, metric, params)
            if row.ratio and row.ratio.claimed and (row.ratio.mean > 1) == less
        ]
        if worse:
            _, mean, label = max(worse)
            parts.append(f"{label} in {_said(workload, metric)} ({mean:.2f})")
    ours = [
        (_said(workload, metric), row.ratio)
        for workload, metric, params in columns
        if (row := summary.get(workload, metric, "shardflake", params)) and row.ratio
    ]
    same = [what for what, ratio in ours if not ratio.claimed]
    other = [f"{what} ({ratio.mean:.2f})" for what, ratio in ours if ratio.claimed]
    baseline = results.label(results.baseline)
    lead = (
        f"Furthest behind {baseline}, as a ratio to it: {names(parts)}."
        if parts
        else f"No key is told from {baseline} as worse in this run."
    )
    if other:
        lead += f" shardflake differs from it in {names(other)}."
    return lead + (f" shardflake is not told from it in {names(same)}." if same else "")


def _said(workload: str, metric: str) -> str:
    return f"{metric_label(metric).replace(',', '')} of the {workload_label(workload)}"


def _column(workload: str, metric: str) -> str:
    return f"{metric_label(metric)}, {workload_label(workload)}"
