"""Forest plots: ratios to the baseline with their intervals, over the band that the run cannot resolve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from shardflake.bench.reporting.drawing import BAND, INK, figure, style, tag
from shardflake.bench.reporting.summary import Row, Summary
from shardflake.bench.reporting.words import METRICS, Section, Shape, metric_label, names, workload_label
from shardflake.bench.storage import Params

METRICS_SHOWN = (
    ("bulk", "index_bytes_per_row"),
    ("bulk", "wal_bytes_per_row"),
    ("bulk", "rows_per_second"),
    ("bulk", "cpu_us_per_row"),
    ("autocommit", "rows_per_second"),
    ("transactions50", "rows_per_second"),
    ("autocommit", "latency_p99_us"),
    ("generator", "us_per_key"),
    ("secondary", "index_bytes_per_row"),
    ("composite", "index_bytes_per_row"),
)


@dataclass(frozen=True, slots=True)
class Panel:
    """One metric in one case: a row for each contender but the baseline and its twin."""

    title: str
    metric: str
    rows: Sequence[Row]
    band: float | None


def panel(summary: Summary, workload: str, metric: str, params: Params, title: str) -> Panel | None:
    """Return the ratios of one case; None if there are none."""
    results = summary.results
    found = [row for row in summary.across(workload, metric, params) if row.ratio is not None]
    twin = next((row.ratio for row in found if row.key.contender == results.twin), None)
    rows = [row for row in found if row.key.contender != results.twin]
    return Panel(title, metric, rows, twin.resolution if twin else None) if rows else None


def forest(summary: Summary) -> Section:
    """Return the section of the ratios that matter most, with the A/A band."""
    panels = []
    for workload, metric in METRICS_SHOWN:
        params = summary.main_case(workload, metric)
        if params is not None and (
            found := panel(summary, workload, metric, params, f"{metric_label(metric)}, {workload_label(workload)}")
        ):
            panels.append(found)
    baseline = summary.results.label(summary.results.baseline)
    section = Section("forest", f"Ratios to {baseline}, with what this run cannot resolve")
    if not panels:
        section.missing = "No contender was measured beside the baseline in one block."
        return section
    section.draw = lambda shape: draw(summary, panels, shape)
    section.alt = (
        f"Forest plot of ratios to {baseline}, one panel for each of {names([each.title for each in panels])}: a point with "
        "its 95 % interval for each key, hollow where no difference may be claimed; the A/A band is shaded."
    )
    claimed = sum(row.ratio is not None and row.ratio.claimed for each in panels for row in each.rows)
    total = sum(len(each.rows) for each in panels)
    widest = max((each for each in panels if each.band), key=lambda each: each.band or 1, default=None)
    section.sentence = f"{claimed} of {total} ratios may be claimed; the others, hollow, are not told from 1."
    if widest and widest.band:
        section.sentence += (
            f" The widest A/A band is that of {widest.title}: a factor of {widest.band:.3g} either way says nothing there."
        )
    else:
        section.sentence += " There is no A/A pair of two blocks or more in this run, so it cannot say what it resolves."
    return section


def draw(summary: Summary, panels: Sequence[Panel], shape: Shape) -> Figure:
    """Draw panels beside each other, or below each other on a phone."""
    columns = min(3, len(panels)) if shape is Shape.WIDE else 1
    lines = -(-len(panels) // columns)
    height = max(len(each.rows) for each in panels) * 0.24 + 1.0
    chart = figure(shape, lines * height)
    grid = np.asarray(chart.subplots(lines, columns, squeeze=False))
    for axes, each in zip(grid.flat, panels, strict=False):
        _draw_panel(summary, axes, each)
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    return chart


def _draw_panel(summary: Summary, axes: Axes, each: Panel) -> None:
    for height, row in enumerate(reversed(each.rows)):
        ratio, colour = row.ratio, style(row.key.contender).colour
        if ratio is None:
            continue
        if ratio.estimate:
            axes.plot([ratio.estimate.low, ratio.estimate.high], [height, height], color=colour, linewidth=1.6)
        face = colour if ratio.claimed else "none"
        (point,) = axes.plot(
            [ratio.mean], [height], marker=style(row.key.contender).marker, color=colour, markerfacecolor=face, markersize=5.5
        )
        tag(point, row.key.contender)
    axes.axvline(1, color=INK, linewidth=0.8, zorder=1)
    axes.set_xscale("log")
    _limit(axes, each)
    if each.band:
        axes.axvspan(1 / each.band, each.band, color=BAND, zorder=0, linewidth=0)
    axes.set_yticks(range(len(each.rows)), [summary.results.label(row.key.contender) for row in reversed(each.rows)])
    axes.set_ylim(-0.7, len(each.rows) - 0.3)
    axes.grid(axis="y", visible=False)
    less = METRICS[each.metric].less if each.metric in METRICS else None
    hint = "" if less is None else "← better" if less else "better →"
    axes.set_title(each.title, loc="left", fontsize=9.5)
    axes.set_xlabel(hint, fontsize=8.5)


def _limit(axes: Axes, each: Panel) -> None:
    """Choose an x axis that shows the means, and as much of wide intervals as leaves the means apart."""
    means = [row.ratio.mean for row in each.rows if row.ratio]
    low, high = min(*means, 1), max(*means, 1)
    span = max((high / low) ** 1.05, 1.25)
    ends = [
        end
        for row in each.rows
        if row.ratio and row.ratio.estimate
        for end in (row.ratio.estimate.low, row.ratio.estimate.high)
    ]
    low, high = max(min([low, *ends]), low / span), min(max([high, *ends]), high * span)
    margin = max(high / low, 1.01) ** 0.06
    low, high = low / margin, high * margin
    axes.set_xlim(low, high)
    if high / low < 4:
        ticks = _round_ticks(low, high)
        axes.set_xticks(ticks, [f"{tick:.4g}" for tick in ticks])
    else:
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=7))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())


def _round_ticks(low: float, high: float) -> list[float]:
    step = 10.0 ** np.floor(np.log10((high - low) / 2))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= 5)
    first = np.ceil(low / step)
    return [round(float(index * step), 6) for index in np.arange(first, np.floor(high / step) + 1)]
