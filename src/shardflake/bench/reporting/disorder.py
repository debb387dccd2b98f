"""Charts of what disorder does to the density of leaves: the sweep over D/C, and the ways into an existing index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from shardflake.bench.reporting.drawing import BLUE, GREEN, GREY, INK, MUTED, RED, figure, legend_below, style, tag
from shardflake.bench.reporting.summary import Row, Summary
from shardflake.bench.reporting.words import NOTHING, Section, Shape, Table, compact, megabytes, percent, plural

FRESH = 0.90
"""Density of an index built in key order: PostgreSQL's default fillfactor for B-trees."""
NEAR = 0.02
"""Densities closer than this, two points, count as alike: random inserts swing by more as pages split in waves."""
_STEP = 0.035
"""Density between the labels of two cases."""
_WIDTHS = {64: ("64-bit", BLUE), 128: ("128-bit", GREEN)}


@dataclass(frozen=True, slots=True)
class Case:
    """A real stream of keys on the curve."""

    label: str
    contender: str
    ratio: float
    density: float


def density(summary: Summary) -> Section:
    """Return the section of leaf density against D/C, with theory and real cases."""
    section = Section("density", "Leaf density against disorder")
    sweep: dict[int, list[tuple[float, float]]] = defaultdict(list)
    cases: list[Case] = []
    for params in summary.cases("disorder", "leaf_density"):
        named = dict(params)
        for row in summary.across("disorder", "leaf_density", params):
            if row.key.contender == summary.results.twin or named.get("ratio") is None:
                continue
            if named.get("case"):
                cases.append(Case(str(named["case"]), row.key.contender, float(named["ratio"]), row.level))
            else:
                sweep[int(named.get("bits", 64))].append((float(named["ratio"]), row.level))
    if not sweep and not cases:
        section.missing = "No disorder sweep was run, or its density could not be read: that takes pgstattuple or pageinspect."
        return section
    theory: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for each in summary.results.physics:
        named = dict(each.params)
        if each.fields.get("quantity") == "leaf_density" and "ratio" in named:
            theory[int(named.get("bits", 64))].append((float(named["ratio"]), float(each.fields["predicted"])))
    for points in (*sweep.values(), *theory.values()):
        points.sort()
    cases.sort(key=lambda case: case.ratio)
    section.draw = lambda shape: _draw_density(sweep, theory, cases, shape)
    section.alt = (
        "Leaf density against the disorder distance D in units of a leaf's capacity C, for "
        f"{' and '.join(_WIDTHS[bits][0] for bits in sorted(sweep) if bits in _WIDTHS)} keys, with the predicted curve and "
        f"{len(cases)} real cases numbered in the order of the table below."
    )
    section.sentence = _density_sentence(sweep, cases)
    if cases:
        rows = [
            [str(place), case.label, summary.results.label(case.contender), compact(case.ratio), f"{case.density:.3f}"]
            for place, case in enumerate(cases, 1)
        ]
        section.tables = [Table(["#", "case", "key", "D/C", "leaf density"], rows)]
    section.notes = [
        "D: how many keys a key lands behind the newest. C: keys that fit on a leaf page, 407 of 64 bits or 291 of 128."
        + ("" if theory else " No prediction is in the results of this run, so no curve of the theory is drawn.")
    ]
    return section


def migration(summary: Summary) -> Section:
    """Return the section of density and size before and after a change of keys, with advice."""
    section = Section("migration", "Changing keys in an index that is full")
    pairs: list[tuple[str, Row, Row]] = []
    for params in summary.cases("migration", "leaf_density"):
        named = dict(params)
        if named.get("moment") != "after":
            continue
        before = tuple(sorted((named | {"moment": "before"}).items()))
        for row in summary.across("migration", "leaf_density", params):
            if first := summary.get("migration", "leaf_density", row.key.contender, before):
                pairs.append((str(named.get("scenario", "")), first, row))
    if not pairs:
        section.missing = "No migration was run, or density could not be read: that takes pgstattuple or pageinspect."
        return section
    several = len({first.key.contender for _, first, _ in pairs}) > 1
    labels = [
        f"{scenario}, {summary.results.label(first.key.contender)}" if several else scenario for scenario, first, _ in pairs
    ]
    section.draw = lambda shape: _draw_migration(labels, pairs, shape)
    section.alt = "Leaf density before and after: " + "; ".join(
        f"{label}, {percent(first.level)} to {percent(second.level)}"
        for label, (_, first, second) in zip(labels, pairs, strict=True)
    )
    section.tables = [
        Table(
            ["scenario", "density", "index size", "advice"],
            [
                [
                    label,
                    f"{first.level:.2f} → {second.level:.2f}",
                    f"{_size(summary, first)} → {_size(summary, second)}",
                    advice(first.level, second.level),
                ]
                for label, (_, first, second) in zip(labels, pairs, strict=True)
            ],
        )
    ]
    drops = [(first.level - second.level, label) for label, (_, first, second) in zip(labels, pairs, strict=True)]
    drop, worst = max(drops)
    section.sentence = (
        f"More than two points of density are lost in {sum(each > NEAR for each, _ in drops)} of "
        f"{plural(len(pairs), 'scenario')}, most, {drop * 100:.0f} points, in this one: {worst}."
        if drop > NEAR
        else f"Not one of {plural(len(pairs), 'scenario')} loses more than two points of density."
    )
    return section


def advice(before: float, after: float) -> str:
    """Return what to do about an index whose leaf density went from one value to another."""
    gain = 1 - after / FRESH
    if after < 0.56 and before - after > NEAR:
        return (
            "New keys split pages in half. Remove or wait out what lies above them, then REINDEX CONCURRENTLY: it makes the "
            f"index {percent(gain)} smaller."
        )
    if gain <= NEAR * 2:
        return "Nothing to do: this is as dense as a fresh index."
    if before - after > NEAR:
        return f"REINDEX CONCURRENTLY once keys come in order again: it makes the index {percent(gain)} smaller."
    return f"No worse than before; REINDEX CONCURRENTLY once makes the index {percent(gain)} smaller."


def _size(summary: Summary, row: Row) -> str:
    size = summary.get("migration", "index_bytes", row.key.contender, row.key.params)
    return megabytes(size.level) if size else NOTHING


def _density_sentence(sweep: dict[int, list[tuple[float, float]]], cases: Sequence[Case]) -> str:
    parts = []
    for bits, points in sorted(sweep.items()):
        name = _WIDTHS[bits][0] if bits in _WIDTHS else f"{bits}-bit"
        ratio, lowest = min(points, key=lambda point: point[1])
        _, last = points[-1]
        if lowest < last - NEAR:
            parts.append(
                f"{name} keys are least dense at D/C {compact(ratio)}, {lowest:.2f}: less than at the largest disorder "
                f"measured, {last:.2f} at {compact(points[-1][0])}"
            )
        else:
            parts.append(f"{name} keys never fall below their density at the largest disorder measured, {last:.2f}")
    ours = [case for case in cases if case.contender == "shardflake"]
    sentence = "; ".join(parts) + "." if parts else ""
    if ours:
        least, most = min(case.density for case in ours), max(case.density for case in ours)
        between = f"{least:.2f} to {most:.2f}" if most - least >= 0.005 else f"{least:.2f}"
        sentence += f" shardflake's own cases lie at {between}, where a fresh index has {FRESH:.2f}."
    return sentence.strip()


def _draw_density(
    sweep: dict[int, list[tuple[float, float]]],
    theory: dict[int, list[tuple[float, float]]],
    cases: Sequence[Case],
    shape: Shape,
) -> Figure:
    chart = figure(shape, 4.2 + 0.16 * len(cases), 4.6)
    axes = chart.subplots()
    for bits in sorted({*sweep, *theory}):
        name, colour = _WIDTHS.get(bits, (f"{bits}-bit", GREY))
        if theory.get(bits):
            axes.plot(*zip(*theory[bits], strict=True), color=colour, linewidth=1.2, label=f"{name}, predicted")
        if sweep.get(bits):
            shown: dict[str, Any] = (
                {"marker": "o", "markersize": 7, "markerfacecolor": "none"} if bits == 64 else {"marker": "D", "markersize": 4}
            )
            points = zip(*sweep[bits], strict=True)
            (line,) = axes.plot(*points, color=colour, linestyle="none", label=f"{name}, measured", **shown)
            tag(line, f"sweep/{bits}")
    _scale(axes, [x for points in (*sweep.values(), *theory.values()) for x, _ in points] + [case.ratio for case in cases])
    for place, case in enumerate(cases, 1):
        (point,) = axes.plot(
            [case.ratio], [case.density], color=style(case.contender).colour, marker="*", markersize=10, linestyle="none"
        )
        tag(point, f"case/{case.label}")
        _label(axes, place, len(cases) - place, case, shape)
    axes.axhline(FRESH, color=INK, linewidth=0.7, linestyle=":")
    axes.set_xlabel("D/C: disorder distance in leaves")
    axes.set_ylabel("leaf density")
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    # below the curve stand, in steps, the names of the cases
    axes.set_ylim(0.42 - (_STEP * len(cases) if shape is Shape.WIDE else 0.02), 1.0)
    axes.set_yticks([0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    legend_below(chart, axes, shape, 4)
    return chart


def _scale(axes: Axes, ratios: Sequence[float]) -> None:
    """Scale the x axis logarithmically, with a place for 0 at its left end."""
    positive = [ratio for ratio in ratios if ratio > 0]
    least = min(positive, default=0.01)
    if min(ratios) <= 0:
        axes.set_xscale("symlog", linthresh=least, linscale=1)
    else:
        axes.set_xscale("log")
    axes.set_xlim(-least * 0.2 if min(ratios) <= 0 else least / 1.6, max(*positive, 1) * 8)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _label(axes: Axes, place: int, level: int, case: Case, shape: Shape) -> None:
    """Name a case: by its label on a line that leads down from it, or by its number where there is no room.

    :param level: steps below the chart; larger for smaller ratios, so that no line runs through a label.
    """
    colour = style(case.contender).colour
    if shape is Shape.NARROW:
        side = 9 if place % 2 else -13
        axes.annotate(str(place), (case.ratio, case.density), (0, side), textcoords="offset points", ha="center", color=colour)
        return
    height = 0.44 - _STEP * (level + 1)
    axes.plot([case.ratio, case.ratio], [height, case.density], color=colour, linewidth=0.6, zorder=1)
    axes.annotate(
        f"{place} {case.label}",
        (case.ratio, height),
        (3, 0),
        textcoords="offset points",
        ha="left",
        va="center",
        color=colour,
        fontsize=8.5,
    )


def _draw_migration(labels: Sequence[str], pairs: Sequence[tuple[str, Row, Row]], shape: Shape) -> Figure:
    chart = figure(shape, 0.36 * len(pairs) + 1.1)
    axes = chart.subplots()
    for height, (_, before, after) in enumerate(reversed(pairs)):
        colour = RED if before.level - after.level > NEAR else BLUE
        axes.plot([before.level, after.level], [height, height], color=colour, linewidth=1.5)
        axes.plot([before.level], [height], marker="o", color=colour, markerfacecolor="none", linestyle="none", markersize=6)
        (point,) = axes.plot([after.level], [height], marker="o", color=colour, linestyle="none", markersize=6)
        tag(point, f"{after.key.contender}/{labels[len(pairs) - 1 - height]}")
    for value, name in ((FRESH, "fresh"), (0.69, "random"), (0.5, "halves")):
        axes.axvline(value, color=MUTED, linewidth=0.7, linestyle=":")
        axes.annotate(
            name,
            (value, 1),
            (0, 2),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="center",
            color=MUTED,
            fontsize=8.5,
        )
    axes.set_yticks(range(len(pairs)), list(reversed(labels)))
    axes.set_ylim(-0.6, len(pairs) - 0.4)
    axes.set_xlim(0.4, 1.0)
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    axes.set_xlabel("leaf density; hollow: before, filled: after")
    axes.grid(axis="y", visible=False)
    return chart
