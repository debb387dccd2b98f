"""Charts of what a key does to index pages: WAL by cause, touched pages, fill, page images after checkpoints."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from shardflake.bench.reporting.drawing import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PANEL,
    PURPLE,
    RED,
    SKY,
    figure,
    legend_below,
    line_style,
    style,
    tag,
)
from shardflake.bench.reporting.summary import Row, Summary
from shardflake.bench.reporting.words import (
    WAL_PARTS,
    Section,
    Shape,
    names,
    number,
    percent,
    significant,
    told,
    workload_label,
)
from shardflake.bench.statistics import geometric_mean
from shardflake.bench.storage import Params, Record

_PART_COLOURS = dict(zip(WAL_PARTS, (GREY, BLUE, RED, ORANGE, GREEN, PURPLE), strict=True))
_MOST_PANELS = 16
_RANDOM = "uuidv4"
Curves = dict[tuple[str, str], list[tuple[float, float]]]
"""Points (x, bytes/row) by contender and wal_compression."""
_FORMULA = "(1 − e^−x)/x"  # noqa: RUF001


def wal(summary: Summary) -> Section:
    """Return the section of WAL per row, split by what wrote it."""
    section = Section("wal", "WAL per row, by what wrote it")
    params = summary.main_case("bulk", "wal_bytes_per_row") or ()
    parts = {part: {row.key.contender: row for row in summary.across("bulk", part, params)} for part in WAL_PARTS}
    totals = [
        row
        for row in summary.across("bulk", "wal_bytes_per_row", params)
        if row.key.contender != summary.results.twin
        and any(row.key.contender in rows and rows[row.key.contender].level > 0 for rows in parts.values())
    ]
    if not totals:
        section.missing = (
            "WAL was not attributed in this run: it takes PostgreSQL 16 or later, the extension pg_walinspect and the role "
            "pg_read_server_files or a grant on its functions."
        )
        return section
    section.draw = lambda shape: _draw_wal(summary, totals, parts, shape)
    section.alt = "Stacked bars of WAL bytes per row for each key: " + ", ".join(
        f"{summary.results.label(row.key.contender)} {number(row.level, 'wal_bytes_per_row')}" for row in totals
    )
    section.sentence = _wal_sentence(summary, totals, parts)
    section.notes = [f"Case: {told(params)}. The number at the end of a bar is all WAL measured.", *_checkpoint_note(summary)]
    return section


def heatmap(summary: Summary) -> Section:
    """Return the section of touched leaf pages over time, one panel for each key."""
    section = Section("heatmap", "Which leaf pages are touched, over time")
    groups: dict[tuple[str, Params], list[Record]] = defaultdict(list)
    for each in sorted(summary.results.heatmaps, key=lambda each: summary.results.order(each.contender)):
        if each.contender != summary.results.twin and np.any(each.fields["counts"]):
            groups[each.workload, each.params].append(each)
    maps = max(groups.values(), key=len, default=[])
    if not maps:
        section.missing = (
            "The run holds no map of touched pages: it is read from WAL, by pg_walinspect on PostgreSQL 16 or later."
        )
        return section
    shown = maps[:_MOST_PANELS]
    section.draw = lambda shape: _draw_heatmaps(summary, shown, shape)
    section.alt = (
        "Heatmaps, time to the right, position in key order upwards, brighter where more leaf pages were touched, for "
        f"{names([summary.results.label(each.contender) for each in shown])}."
    )
    spread = {summary.results.label(each.contender): _touched(each) for each in shown}
    low, high = min(spread.values()), max(spread.values())
    least, most = ([name for name, value in spread.items() if value == end] for end in (low, high))
    section.sentence = (
        f"Within one slice of time, {names(most)} touched {percent(high)} of the index's key range, "
        f"{names(least)} {percent(low)}: so much of it has to be in memory, and is written in full after a checkpoint."
        if low < high
        else f"Every key touched {percent(low)} of its key range within one slice of time: this run shows no difference."
    )
    if len(maps) > len(shown):
        section.notes = [
            f"Left out for space: {names([summary.results.label(each.contender) for each in maps[_MOST_PANELS:]])}."
        ]
    return section


def fill(summary: Summary) -> Section:
    """Return the section of histograms of how full leaf pages are."""
    section = Section("fill", "How full leaf pages are")
    groups: dict[tuple[str, Params], dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for each in summary.results.histograms:
        if each.fields["name"] == "leaf_fill" and each.contender != summary.results.twin and sum(each.fields["counts"]):
            groups[each.workload, each.params][each.contender].append(each)
    if not groups:
        section.missing = "No histogram of leaf pages: it takes the extension pageinspect and PostgreSQL 16 or later."
        return section
    (workload, params), chosen = max(groups.items(), key=lambda group: len(group[1]))
    shares = {name: _shares(chosen[name]) for name in sorted(chosen, key=summary.results.order)}
    section.draw = lambda shape: _draw_fill(summary, shares, shape)
    medians = {summary.results.label(name): _median_bin(*share) for name, share in shares.items()}
    section.alt = "Histograms of the fraction of each leaf page in use; medians: " + ", ".join(
        f"{label} {_span(value)}" for label, value in medians.items()
    )
    low, high = min(medians.values()), max(medians.values())
    emptiest = [label for label, value in medians.items() if value == low]
    fullest = [label for label, value in medians.items() if value == high]
    section.sentence = (
        f"The median leaf page of {names(fullest)} is filled to {_span(high)}, that of {names(emptiest)} to {_span(low)}."
        if low < high
        else f"The median leaf page of every key is filled to {_span(low)}: this run shows no difference."
    )
    section.notes = [
        f"{workload_label(workload)}{', ' + told(params) if told(params) else ''}. A leaf built in key order is filled to "
        "90 %: fillfactor, not bloat."
    ]
    return section


def checkpoint(summary: Summary) -> Section:
    """Return the section of full-page images against inserts per leaf page and checkpoint, with the theory."""
    section = Section("checkpoint", "Page images after checkpoints")
    curves: Curves = defaultdict(list)
    for params in summary.cases("checkpoint", "wal_index_fpi"):
        named = dict(params)
        for row in summary.across("checkpoint", "wal_index_fpi", params):
            if row.key.contender != summary.results.twin and named.get("x", 0) > 0 and row.level > 0:
                curves[row.key.contender, str(named.get("wal_compression", "off"))].append((named["x"], row.level))
    curves = {key: sorted(points) for key, points in sorted(curves.items(), key=lambda item: summary.results.order(item[0][0]))}
    if not curves:
        section.missing = "No workload with checkpoints at a fixed rate was run, or WAL was not attributed."
        return section
    random = {name: points for name, points in curves.items() if name[0] == _RANDOM}
    images = _image_sizes(summary, random)
    section.draw = lambda shape: _draw_checkpoint(summary, curves, images, shape)
    section.alt = (
        "Index page images in bytes of WAL per row against x, the inserts per leaf page between two checkpoints, "
        f"on logarithmic axes, for {names(list(dict.fromkeys(summary.results.label(name) for name, _ in curves)))}, with the "
        f"curve {_FORMULA}."
    )
    ends = [
        f"{summary.results.label(name)} {significant(points[0][1])} to {significant(points[-1][1])}"
        for (name, compression), points in curves.items()
        if compression == next(iter(curves))[1] and len(points) > 1
    ]
    section.sentence = (
        f"From the smallest x to the largest, images cost these bytes of WAL a row: {names(ends)}. No single WAL ratio holds "
        "for every checkpoint interval."
        if ends
        else "One x alone was measured, which gives no curve."
    )
    section.notes = _theory_notes(summary, random, images)
    return section


def images_per_row(x: float) -> float:
    """Return the full-page images that a row causes with x inserts per leaf page and checkpoint, at random places."""
    return -math.expm1(-x) / x


def _image_sizes(summary: Summary, random: Curves) -> dict[str, tuple[float, str]]:
    """Return by compression the bytes of one image, and whether they were predicted, or fitted to the random keys."""
    predicted: dict[str, list[float]] = defaultdict(list)
    for each in summary.results.physics:
        if each.fields.get("quantity") == "fpi_bytes":
            predicted[str(dict(each.params).get("wal_compression", "off"))].append(float(each.fields["predicted"]))
    return {
        compression: (geometric_mean(found), "predicted")
        if (found := predicted.get(compression))
        else (geometric_mean([value / images_per_row(x) for x, value in points]), "fitted")
        for (_, compression), points in random.items()
    }


def _theory_notes(summary: Summary, random: Curves, images: dict[str, tuple[float, str]]) -> list[str]:
    """Say how far random keys lie from the curve, which is theirs alone: keys in order come back to the same leaf."""
    notes = []
    for (name, compression), points in random.items():
        size, how = images[compression]
        error = max(abs(value / (size * images_per_row(x)) - 1) for x, value in points)
        notes.append(
            f"The curve is {_FORMULA} times the bytes of one image, for keys at random places. wal_compression {compression}: "
            f"{significant(size)} bytes, {how}; {summary.results.label(name)} lies within {percent(error)} of it."
        )
    return notes or ["No random keys were measured here, so no curve of the theory is drawn: it holds for them alone."]


def _draw_wal(summary: Summary, totals: Sequence[Row], parts: dict[str, dict[str, Row]], shape: Shape) -> Figure:
    chart = figure(shape, 0.34 * len(totals) + 1.3)
    axes = chart.subplots()
    heights = list(range(len(totals)))[::-1]
    left = np.zeros(len(totals))
    for part, label in WAL_PARTS.items():
        widths = np.array([row.level if (row := parts[part].get(total.key.contender)) else 0.0 for total in totals])
        if widths.any():
            bars = axes.barh(heights, widths, left=left, height=0.68, color=_PART_COLOURS[part], label=label)
            for bar, total in zip(bars, totals, strict=True):
                tag(bar, f"{total.key.contender}/{part}")
            left += widths
    for height, total, end in zip(heights, totals, left, strict=True):
        axes.annotate(number(total.level, "wal_bytes_per_row"), (end, height), (4, 0), textcoords="offset points", va="center")
    axes.set_yticks(heights, [summary.results.label(total.key.contender) for total in totals])
    axes.set_xlim(0, left.max() * 1.14)
    axes.set_xlabel("bytes of WAL per row")
    axes.grid(axis="y", visible=False)
    legend_below(chart, axes, shape, 6)
    return chart


def _wal_sentence(summary: Summary, totals: Sequence[Row], parts: dict[str, dict[str, Row]]) -> str:
    results = summary.results
    told_apart = [row for row in totals if row.ratio and row.ratio.claimed]
    baseline = results.label(results.baseline)
    if not told_apart and not any(row.ratio and row.ratio.estimate for row in totals):
        return (
            "WAL was taken apart in one block, which gives no interval: the bars are what it was there, and nothing is claimed."
        )
    if not told_apart:
        return f"No key is told from {baseline} by the WAL that it writes."
    most = max(told_apart, key=lambda row: row.level)
    gaps = {
        WAL_PARTS[part]: rows[most.key.contender].level - rows[results.baseline].level
        for part, rows in parts.items()
        if most.key.contender in rows and results.baseline in rows
    }
    ratio = most.ratio.mean if most.ratio else 1
    sentence = f"Of the keys told from {baseline}, {results.label(most.key.contender)} writes most: {ratio:.2f} times its WAL"
    if gaps and max(gaps.values()) > 0:
        cause = max(gaps, key=lambda part: gaps[part])
        sentence += f"; the largest part of the difference, {significant(gaps[cause])} bytes a row, is {cause}"
    return sentence + "."


def _checkpoint_note(summary: Summary) -> list[str]:
    if not summary.cases("checkpoint", "wal_index_fpi"):
        return ["Page images depend on the time between checkpoints: no single WAL ratio is true."]
    return ["Page images depend on the time between checkpoints: see the curve below before quoting a ratio."]


def _touched(each: Record) -> float:
    """Return the share of the index's key range that a slice of time touches, in the median of the slices that touch any."""
    counts = np.asarray(each.fields["counts"], dtype=float) > 0
    heights = np.diff(np.asarray(each.fields["y_edges"], dtype=float))
    busy = counts.any(axis=0)
    shares = (counts[:, busy] * heights[:, None]).sum(axis=0) / heights.sum()
    return float(np.median(shares))


def _draw_heatmaps(summary: Summary, maps: Sequence[Record], shape: Shape) -> Figure:
    columns = min(4 if shape is Shape.WIDE else 2, len(maps))
    lines = -(-len(maps) // columns)
    chart = figure(shape, 2.1 * lines + 0.5, 1.9 * lines + 0.5)
    grid = np.asarray(chart.subplots(lines, columns, squeeze=False, sharex=True, sharey=True))
    peak = max(float(np.max(each.fields["counts"])) for each in maps)
    mesh = None
    for axes, each in zip(grid.flat, maps, strict=False):
        counts = np.ma.masked_less_equal(np.asarray(each.fields["counts"], dtype=float), 0)
        axes.set_facecolor(PANEL)
        mesh = axes.pcolormesh(
            each.fields["x_edges"],
            each.fields["y_edges"],
            counts,
            cmap=colormaps["cividis"],
            norm=LogNorm(1, max(peak, 2)),
            rasterized=True,
        )
        tag(axes, each.contender)
        axes.set_title(summary.results.label(each.contender), loc="left")
        axes.grid(visible=False)
        axes.set_ylim(0, 1)
    for axes in grid.flat[len(maps) :]:
        axes.set_axis_off()
    chart.supxlabel("seconds", fontsize=9.5)
    chart.supylabel("position in key order", fontsize=9.5)
    if mesh is not None:
        bar = chart.colorbar(mesh, ax=list(grid.flat), shrink=0.8 if lines == 1 else 0.5, aspect=30, pad=0.01)
        bar.set_label("pages touched")
        bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        bar.ax.yaxis.set_minor_formatter(NullFormatter())
        bar.solids.set_rasterized(True)  # type: ignore[union-attr]
    return chart


def _shares(histograms: Sequence[Record]) -> tuple[list[float], list[float]]:
    """Return the edges, and the share of pages between them over all blocks."""
    edges = list(histograms[0].fields["edges"])
    alike = [np.asarray(each.fields["counts"], dtype=float) for each in histograms if list(each.fields["edges"]) == edges]
    total = np.sum(alike, axis=0)
    return edges, list(total / total.sum())


def _median_bin(edges: Sequence[float], shares: Sequence[float]) -> tuple[float, float]:
    """Return the edges of the bin that holds the median page."""
    position = int(np.searchsorted(np.cumsum(shares), 0.5))
    return edges[position], edges[position + 1]


def _span(between: tuple[float, float]) -> str:
    return f"between {between[0] * 100:.0f} and {percent(between[1])}"


def _draw_fill(summary: Summary, shares: dict[str, tuple[list[float], list[float]]], shape: Shape) -> Figure:
    columns = min(4 if shape is Shape.WIDE else 2, len(shares))
    lines = -(-len(shares) // columns)
    chart = figure(shape, 1.6 * lines + 0.5)
    grid = np.asarray(chart.subplots(lines, columns, squeeze=False, sharex=True, sharey=True))
    for axes, (name, (edges, share)) in zip(grid.flat, shares.items(), strict=False):
        steps = axes.stairs(np.array(share) * 100, edges, fill=True, color=style(name).colour)
        tag(steps, name)
        axes.axvline(0.9, color=INK, linewidth=0.8, linestyle=":")
        axes.set_title(summary.results.label(name), loc="left")
        axes.set_xlim(0, 1)
        axes.set_xticks([0, 0.5, 1], ["0", "50 %", "100 %"])
    for axes in grid.flat[len(shares) :]:
        axes.set_axis_off()
    chart.supxlabel("fraction of the page in use; dotted: fillfactor 90", fontsize=9.5)
    chart.supylabel("% of leaf pages", fontsize=9.5)
    return chart


def _draw_checkpoint(
    summary: Summary,
    curves: Curves,
    images: dict[str, tuple[float, str]],
    shape: Shape,
) -> Figure:
    chart = figure(shape, 4.2, 4.6)
    axes: Axes = chart.subplots()
    ends = [x for points in curves.values() for x, _ in points]
    steps = np.geomspace(min(ends) * 0.8, max(ends) * 1.25, 80)
    dashes = ("-", "--", "-.", ":")
    for (compression, (size, _)), dash in zip(images.items(), dashes * len(images), strict=False):
        axes.plot(
            steps,
            [size * images_per_row(float(x)) for x in steps],
            color=SKY,
            linestyle=dash,
            linewidth=1.2,
            label=f"theory, compression {compression}",
        )
    compressions = list(dict.fromkeys(compression for _, compression in curves))
    for (name, compression), points in curves.items():
        drawn = line_style(name) | {"linestyle": "none"}
        if compressions.index(compression):
            drawn["markerfacecolor"] = "none"
        (line,) = axes.plot(*zip(*points, strict=True), **drawn, label=f"{summary.results.label(name)}, {compression}")
        tag(line, f"{name}/{compression}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("x: inserts per leaf page between two checkpoints")
    axes.set_ylabel("page images, bytes/row")
    legend_below(chart, axes, shape, 4)
    return chart
