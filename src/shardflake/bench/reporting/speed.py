"""Charts of the time that inserts take: rate against table size and against clients, latency."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullFormatter, NullLocator

from shardflake.bench.pgbench import WAITS
from shardflake.bench.reporting.drawing import MUTED, figure, legend_below, line_style, tag
from shardflake.bench.reporting.series import Curve, curves, labels
from shardflake.bench.reporting.summary import Row, Summary
from shardflake.bench.reporting.words import (
    NOTHING,
    Section,
    Shape,
    Table,
    megabytes,
    names,
    percent,
    significant,
    told,
    workload_label,
)
from shardflake.bench.statistics import geometric_mean
from shardflake.bench.storage import Params

FAST_PATH_ROWS = 149_000
"""Above so many bigint rows the root is on level 2, and inserts at the right edge take PostgreSQL's short cut."""
_LOOKS = 100
"""With fewer, a share says nothing."""
_PERCENTILES = (
    ("latency_p50_us", "p50"),
    ("latency_p95_us", "p95"),
    ("latency_p99_us", "p99"),
    ("latency_p999_us", "p99.9"),
)


def rate_by_size(summary: Summary) -> Section:
    """Return the section of insert rate against table size, with the line where the index fills shared_buffers."""
    section = Section("size", "Insert rate as the table grows")
    found = curves(summary, "insert_rate_by_rows")
    if found is None:
        section.missing = "No load in this run recorded its rate as the table grew."
        return section
    workload, params, lines = found
    buffers = summary.shared_buffers
    edges = {
        name: buffers / row.level
        for name in lines
        if buffers and (row := summary.get(workload, "index_bytes_per_row", name, params)) and row.level
    }
    last = max(x for xs, _ in lines.values() for x in xs)
    reached = {name: rows for name, rows in edges.items() if rows <= last}
    section.draw = lambda shape: _draw_rates(summary, lines, reached, shape)
    section.alt = f"Rows inserted per second against rows in the table, for {labels(summary, lines)}."
    section.sentence = (
        _fall(summary, lines)
        if last > FAST_PATH_ROWS
        else f"The load ends at {last:,.0f} rows, before PostgreSQL's short cut to the rightmost page is in use: rates of so "
        "small a table say little."
    )
    if buffers and edges:
        if reached:
            first = min(reached, key=lambda name: reached[name])
            section.sentence += (
                f" shared_buffers is {megabytes(buffers)}: the index of {summary.results.label(first)} fills it first, at "
                f"{reached[first]:,.0f} rows."
            )
        else:
            largest = max(last * buffers / rows for rows in edges.values())
            section.sentence += (
                f" The largest index came to {megabytes(largest)} of {megabytes(buffers)} shared_buffers: nothing here says "
                "what happens once an index does not fit."
            )
    section.notes = [
        f"{workload_label(workload)}{', ' + told(params) if told(params) else ''}; geometric mean of the blocks. Below "
        f"{FAST_PATH_ROWS:,} rows PostgreSQL's short cut to the rightmost page is not yet in use."
    ]
    return section


def clients(summary: Summary) -> Section:
    """Return the section of throughput against sessions."""
    section = Section("clients", "Rows per second against clients")
    panels: dict[str, dict[str, list[Row]]] = {}
    for workload in ("autocommit", "transactions50"):
        lines: dict[str, list[Row]] = defaultdict(list)
        for params in summary.cases(workload, "rows_per_second"):
            for row in summary.across(workload, "rows_per_second", params):
                if "clients" in dict(params):
                    lines[row.key.contender].append(row)
        if lines:
            panels[workload] = {name: sorted(lines[name], key=_clients) for name in sorted(lines, key=summary.results.order)}
    if not panels:
        section.missing = "No workload with several sessions was run: it takes the program pgbench."
        return section
    section.draw = lambda shape: _draw_clients(summary, panels, shape)
    listed = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    section.alt = f"Rows per second against the number of clients, for {labels(summary, listed)}."
    section.sentence = " ".join(_crossings(summary, workload, lines) for workload, lines in panels.items())
    cores = (summary.results.header.get("machine") or {}).get("cores")
    if cores:
        section.notes = [
            f"This machine has {cores} cores: with more clients than that they wait for each other's turn, and nothing is "
            "claimed about contention beyond what was seen here."
        ]
    return section


def latency(summary: Summary) -> Section:
    """Return the section of latency percentiles at the largest number of clients."""
    section = Section("latency", "Latency")
    workload = next((name for name in ("autocommit", "transactions50") if summary.cases(name, "latency_p50_us")), None)
    params = summary.main_case(workload, "latency_p50_us") if workload else None
    if workload is None or params is None:
        section.missing = "No percentiles in this run: they are read from pgbench's log."
        return section
    lines: dict[str, list[Row]] = {}
    for row in summary.across(workload, "latency_p50_us", params):
        name = row.key.contender
        found = [summary.get(workload, metric, name, params) for metric, _ in _PERCENTILES]
        lines[name] = [each for each in found if each]
    section.draw = lambda shape: _draw_latency(summary, lines, shape)
    section.alt = f"Latency at the 50th, 95th, 99th and 99.9th percentile for {labels(summary, lines)}."
    tail = [row for row in summary.across(workload, "latency_p99_us", params) if row.ratio]
    told_apart = [row for row in tail if row.ratio and row.ratio.claimed]
    baseline = summary.results.label(summary.results.baseline)
    if told_apart:
        listed = [f"{summary.results.label(row.key.contender)} {row.ratio.mean:.2f}" for row in told_apart if row.ratio]
        section.sentence = (
            f"At the 99th percentile, told from {baseline} are {names(listed)} times its latency; the rest are not."
        )
    else:
        section.sentence = f"At the 99th percentile no key is told from {baseline} in this run."
    section.notes = [f"{workload_label(workload)}, {told(params)}."]
    section.tables = _waits(summary, workload, params)
    return section


def _waits(summary: Summary, workload: str, params: Params) -> list[Table]:
    """Return a table of what sessions were waiting for, of those that were looked at often enough."""
    rows = []
    for row in summary.across(workload, "looks", params):
        looks = sum(summary.results.values[row.key].values())
        found = [summary.get(workload, metric, row.key.contender, params) for metric in WAITS]
        if looks >= _LOOKS:
            shares = [f"{each.level:.0%}" if each else NOTHING for each in found]
            rows.append([summary.results.label(row.key.contender), *shares, f"{looks:,.0f}"])
    caption = "Sessions at work that were waiting when they were looked at, fifty times a second, by what for; the rest ran:"
    return [Table(["key", *WAITS.values(), "looks"], rows, caption)] if rows else []


def _fall(summary: Summary, lines: dict[str, Curve]) -> str:
    """Say which keys slow down as the table grows, by more than the baseline and its twin do."""
    falls = {name: fall for name, curve in lines.items() if (fall := _last_to_first(curve))}
    results = summary.results
    base = [falls[name] for name in (results.baseline, results.twin) if name in falls]
    if results.baseline not in falls:
        return "The load is too short to compare its last third with its first."
    noise = max(abs(math.log(each)) for each in base)
    slower = {
        name: fall / falls[results.baseline]
        for name, fall in falls.items()
        if name not in (results.baseline, results.twin) and math.log(fall / falls[results.baseline]) < -max(noise, 0.05)
    }
    label = results.label(results.baseline)
    start = f"From the first to the last third of the load {label} goes to {percent(falls[results.baseline])} of its rate"
    if not slower:
        return f"{start}, and no other key falls further than that can explain."
    listed = [f"{results.label(name)} to {percent(falls[name])}" for name in sorted(slower, key=lambda name: slower[name])]
    return f"{start}, {names(listed)} of theirs; the others fall no further than the spread of {label} itself."


def _last_to_first(curve: Curve) -> float | None:
    xs, ys = curve
    usable = [y for x, y in zip(xs, ys, strict=True) if x > min(FAST_PATH_ROWS, xs[-1] / 10)]
    third = len(usable) // 3
    return geometric_mean(usable[-third:]) / geometric_mean(usable[:third]) if third else None


def _crossings(summary: Summary, workload: str, lines: dict[str, list[Row]]) -> str:
    """Say where keys are told from the baseline, and in which direction, by number of clients."""
    results = summary.results
    every = sorted({_clients(row) for rows in lines.values() for row in rows})
    groups: dict[tuple[str, tuple[float, ...]], list[str]] = defaultdict(list)
    for name, rows in lines.items():
        if name in (results.baseline, results.twin):
            continue
        for word, faster in (("slower", False), ("faster", True)):
            counts = tuple(_clients(row) for row in rows if row.ratio and row.ratio.claimed and (row.ratio.mean > 1) == faster)
            if counts:
                groups[word, counts].append(results.label(name))
    title, baseline = workload_label(workload).capitalize(), results.label(results.baseline)
    if not groups:
        return f"{title}: no key is told from {baseline} with any number of clients."
    parts = []
    for (word, counts), listed in sorted(groups.items()):
        where = "every number of" if list(counts) == every and len(every) > 1 else names([f"{count:.0f}" for count in counts])
        parts.append(f"{word} with {where} clients: {names(listed)}")
    return f"{title}, told from {baseline}: {'; '.join(parts)}."


def _clients(row: Row) -> float:
    return float(dict(row.key.params).get("clients", 0))


def _draw_rates(summary: Summary, lines: dict[str, Curve], reached: dict[str, float], shape: Shape) -> Figure:
    chart = figure(shape, 4.4, 5.2)
    axes = chart.subplots()
    for name, (xs, ys) in lines.items():
        many = len(xs) > 30
        (line,) = axes.plot(xs, ys, **(line_style(name) | ({"marker": ""} if many else {})), label=summary.results.label(name))
        tag(line, name)
    axes.set_ylim(bottom=0)
    marked = {min(reached, key=lambda name: reached[name])} if reached else set()
    for level, name in enumerate(sorted(marked | ({summary.results.baseline} & reached.keys()))):
        colour = line_style(name)["color"]
        axes.axvline(reached[name], color=colour, linewidth=1, linestyle=":")
        axes.annotate(
            f"{summary.results.label(name)}'s index = shared_buffers",
            (reached[name], 1),
            (0, 2 + 12 * level),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="left" if reached[name] < max(x for xs, _ in lines.values() for x in xs) / 2 else "right",
            fontsize=8.5,
            color=colour,
        )
    axes.xaxis.set_major_formatter(EngFormatter())
    axes.yaxis.set_major_formatter(EngFormatter())
    axes.set_xlabel("rows in the table")
    axes.set_ylabel("rows/s")
    legend_below(chart, axes, shape)
    return chart


def _draw_clients(summary: Summary, panels: dict[str, dict[str, list[Row]]], shape: Shape) -> Figure:
    beside = len(panels) if shape is Shape.WIDE else 1
    lines = len(panels) // beside
    chart = figure(shape, 4.4, 3.4 * lines + 1.2)
    grid = np.asarray(chart.subplots(lines, beside, squeeze=False))
    for axes, (workload, found) in zip(grid.flat, panels.items(), strict=True):
        for name, rows in found.items():
            places, levels = [_clients(row) for row in rows], [row.level for row in rows]
            (line,) = axes.plot(places, levels, **line_style(name), label=summary.results.label(name))
            tag(line, f"{workload}/{name}")
        ticks = sorted({_clients(row) for rows in found.values() for row in rows})
        axes.set_xscale("log", base=2)
        axes.set_xticks(ticks, [f"{tick:.0f}" for tick in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(EngFormatter())
        axes.set_xlabel("clients")
        axes.set_ylabel("rows/s")
        axes.set_title(workload_label(workload), loc="left", color=MUTED)
    longest = max(grid.flat, key=lambda axes: len(axes.get_lines()))
    legend_below(chart, longest, shape)
    return chart


def _draw_latency(summary: Summary, lines: dict[str, list[Row]], shape: Shape) -> Figure:
    chart = figure(shape, 4.2, 5.0)
    axes: Axes = chart.subplots()
    ticks = {metric: place for place, (metric, _) in enumerate(_PERCENTILES)}
    for name, rows in lines.items():
        places, levels = [ticks[row.key.metric] for row in rows], [row.level for row in rows]
        (line,) = axes.plot(places, levels, **line_style(name), label=summary.results.label(name))
        tag(line, name)
    axes.set_xticks(list(ticks.values()), [label for _, label in _PERCENTILES])
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: significant(value)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel("latency, µs")
    legend_below(chart, axes, shape)
    return chart
