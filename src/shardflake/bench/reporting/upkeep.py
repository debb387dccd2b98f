"""Charts of what comes after the inserts: reads, and deleting the oldest rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from shardflake.bench.reporting import forest
from shardflake.bench.reporting.drawing import figure, legend_below, line_style, tag
from shardflake.bench.reporting.series import Curve, curves, labels
from shardflake.bench.reporting.summary import Row, Summary
from shardflake.bench.reporting.words import NOTHING, Section, Shape, Table, names, number, told
from shardflake.bench.storage import Params


def reads(summary: Summary) -> Section:
    """Return the section of reads, as ratios to the baseline for each kind of query."""
    section = Section("reads", "Reads")
    several = len({dict(params).get("memory") for params in summary.cases("reads", "read_us")}) > 1
    panels = [
        found
        for params in summary.cases("reads", "read_us")
        if (found := forest.panel(summary, "reads", "read_us", params, _query(params, several)))
    ]
    if not panels:
        section.missing = "No reads were measured in this run."
        return section
    baseline = summary.results.label(summary.results.baseline)
    section.draw = lambda shape: forest.draw(summary, panels, shape)
    section.alt = (
        f"Forest plots of read time relative to {baseline}, one panel for each of {names([each.title for each in panels])}."
    )
    parts, same = [], []
    for each in panels:
        told_apart = [row for row in each.rows if row.ratio and row.ratio.claimed]
        if not told_apart:
            same.append(each.title)
            continue
        far = max(told_apart, key=lambda row: abs(math.log(row.ratio.mean)) if row.ratio else 0)
        mean = far.ratio.mean if far.ratio else 1
        parts.append(f"{each.title}: {summary.results.label(far.key.contender)} differs most, {mean:.2f} times {baseline}")
    if same:
        parts.append(f"{names(same)}: no key is told from {baseline}")
    section.sentence = "; ".join(parts) + "."
    return section


def retention(summary: Summary) -> Section:
    """Return the section of deleting the oldest rows, and of size over the rounds of it."""
    section = Section("retention", "Retention: deleting the oldest rows")
    panels = [
        found
        for params in summary.cases("retention", "seconds")
        if (found := forest.panel(summary, "retention", "seconds", params, told(params) or "seconds"))
    ]
    rounds = curves(summary, "size_by_round", "retention")
    if not panels and rounds is None:
        section.missing = "Retention was not measured in this run."
        return section
    baseline = summary.results.label(summary.results.baseline)
    if rounds:
        section.draw = lambda shape: _draw_rounds(summary, rounds[2], shape)
        section.alt = f"Index size after each round of deleting, VACUUM and new inserts, for {labels(summary, rounds[2])}."
    elif panels:
        section.draw = lambda shape: forest.draw(summary, panels, shape)
        section.alt = f"Forest plots of time relative to {baseline}: {names([each.title for each in panels])}."
    cases = summary.cases("retention", "seconds")
    if cases:
        timed = {params: {row.key.contender: row for row in summary.across("retention", "seconds", params)} for params in cases}
        order = sorted({name for rows in timed.values() for name in rows} - {summary.results.twin}, key=summary.results.order)
        cells = [[summary.results.label(name), *(_phase(timed[params].get(name)) for params in cases)] for name in order]
        headings = ["key", *(told(params) or "seconds" for params in cases)]
        section.tables = [Table(headings, cells, f"Seconds, and the ratio to {baseline}; ~: not told from it.")]
    section.sentence = _retention_sentence(summary, panels, rounds[2] if rounds else {})
    return section


def _retention_sentence(summary: Summary, panels: Sequence[forest.Panel], lines: dict[str, Curve]) -> str:
    results, parts = summary.results, []
    baseline = results.label(results.baseline)
    for each in panels:
        told_apart = [row for row in each.rows if row.ratio and row.ratio.claimed and row.ratio.mean > 1]
        if told_apart:
            worst = max(told_apart, key=lambda row: row.ratio.mean if row.ratio else 0)
            ratio = worst.ratio.mean if worst.ratio else 1
            parts.append(f"{each.title}: {results.label(worst.key.contender)} takes longest, {ratio:.1f} times {baseline}")
        else:
            parts.append(f"{each.title}: no key is told from {baseline} as slower")
    growth = {name: ys[-1] / ys[0] for name, (_, ys) in lines.items() if len(ys) > 1}
    if growth:
        most = max(growth, key=lambda name: growth[name])
        parts.append(
            f"over the rounds the index of {results.label(most)} grows most, to {growth[most]:.2f} times its first size"
        )
    sentence = "; ".join(parts)
    return sentence[:1].upper() + sentence[1:] + "."


def _query(params: Params, several: bool) -> str:
    """Return the kind of a query; where it was read from only if that differs between the cases."""
    named = dict(params)
    rest = told(params, without=("query", "memory"))
    where = str(named.get("memory")) if several else ""
    return ", ".join(filter(None, (str(named.get("query", "read")), where, rest)))


def _phase(row: Row | None) -> str:
    if row is None:
        return NOTHING
    return number(row.level, "seconds") + (f"\n{row.ratio.text()}" if row.ratio else "")


def _draw_rounds(summary: Summary, lines: dict[str, Curve], shape: Shape) -> Figure:
    chart = figure(shape, 3.8, 4.4)
    axes = chart.subplots()
    for name, (xs, ys) in lines.items():
        (line,) = axes.plot(xs, [y / 2**20 for y in ys], **line_style(name), label=summary.results.label(name))
        tag(line, name)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("round of deleting, VACUUM and inserting")
    axes.set_ylabel("index, MB")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    legend_below(chart, axes, shape)
    return chart
