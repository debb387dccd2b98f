"""Series of a run, averaged over its blocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from shardflake.bench.reporting.summary import Summary
from shardflake.bench.reporting.words import names
from shardflake.bench.statistics import geometric_mean
from shardflake.bench.storage import Params, Record

Curve = tuple[list[float], list[float]]
"""Values of x, ascending, and of y at each."""


def curves(summary: Summary, name: str, workload: str | None = None) -> tuple[str, Params, dict[str, Curve]] | None:
    """Return the series of one name in the case that most contenders share, averaged over blocks, in the run's order."""
    groups: dict[tuple[str, Params], dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for each in summary.results.series:
        if each.fields["name"] == name and workload in (None, each.workload):
            groups[each.workload, each.params][each.contender].append(each)
    if not groups:
        return None
    (chosen, params), found = max(
        groups.items(),
        key=lambda item: (len(item[1]), max(max(each.fields["x"]) for all_ in item[1].values() for each in all_)),
    )
    lines: dict[str, Curve] = {}
    for contender in sorted(found, key=summary.results.order):
        values: dict[float, list[float]] = defaultdict(list)
        for each in found[contender]:
            for x, y in zip(each.fields["x"], each.fields["y"], strict=True):
                if y > 0:
                    values[x].append(y)
        xs = sorted(values)
        if xs:
            lines[contender] = (xs, [geometric_mean(values[x]) for x in xs])
    return (chosen, params, lines) if lines else None


def labels(summary: Summary, contenders: Iterable[str]) -> str:
    """Return the labels of contenders in words."""
    return names([summary.results.label(name) for name in contenders])
