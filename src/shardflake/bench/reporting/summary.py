"""What a run measured, summed up over its blocks: levels, ratios to the baseline, and which cases there are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shardflake.bench.statistics import Estimate, Ratio, compare, estimate, geometric_mean
from shardflake.bench.storage import Key, Params, Results


@dataclass(frozen=True, slots=True)
class Row:
    """One thing measured.

    :param level: geometric mean over the blocks; the arithmetic one where a block has 0.
    :param interval: its 95 % interval; None for a single block or where a block has 0.
    :param ratio: to the baseline; None for the baseline itself and where it was not measured.
    """

    key: Key
    unit: str
    blocks: int
    level: float
    interval: Estimate | None
    ratio: Ratio | None


class Summary:
    """Answers the questions of tables, charts and sentences about a run."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.rows = {key: self._row(key, blocks) for key, blocks in results.values.items()}

    def get(self, workload: str, metric: str, contender: str, params: Params) -> Row | None:
        """Return what was measured of one contender in one case."""
        return self.rows.get(Key(workload, contender, metric, params))

    def across(self, workload: str, metric: str, params: Params) -> list[Row]:
        """Return every contender of one case, in the run's order."""
        found = [row for key, row in self.rows.items() if (key.workload, key.metric, key.params) == (workload, metric, params)]
        return sorted(found, key=lambda row: self.results.order(row.key.contender))

    def cases(self, workload: str, metric: str) -> list[Params]:
        """Return the cases in which a metric was measured, by their params."""
        found = {key.params for key in self.rows if (key.workload, key.metric) == (workload, metric)}
        return sorted(found, key=_sortable)

    def main_case(self, workload: str, metric: str, **wanted: Any) -> Params | None:
        """Return the case that stands for a workload: most contenders, then in cache, then most rows, then most clients.

        :param wanted: what its params must say where they have that name.
        """

        def rank(params: Params) -> tuple[int, bool, float, float]:
            named = dict(params)
            contenders = len(self.across(workload, metric, params))
            return contenders, named.get("memory") != "uncached", named.get("rows", 0), named.get("clients", 0)

        fitting = [
            params
            for params in self.cases(workload, metric)
            if all(dict(params).get(name, value) == value for name, value in wanted.items())
        ]
        return max(fitting, key=rank, default=None)

    def ratio(self, workload: str, metric: str, above: str, below: str, params: Params) -> Ratio | None:
        """Return contender : contender within blocks, with the band of the baseline's A/A pair."""
        if below == self.results.baseline:
            row = self.get(workload, metric, above, params)
            return row.ratio if row else None
        values = self.results.values
        first = values.get(Key(workload, above, metric, params), {})
        second = values.get(Key(workload, below, metric, params), {})
        band = self._band(workload, metric, params)
        found = compare(first, second, None)
        return found and Ratio(found.mean, found.blocks, found.estimate, band)

    @cached_property
    def blocks(self) -> int:
        """The largest number of blocks of anything."""
        return max((row.blocks for row in self.rows.values()), default=0)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The server's settings."""
        found: Mapping[str, Any] = (self.results.header.get("server") or {}).get("settings") or {}
        return found

    @property
    def shared_buffers(self) -> float | None:
        """Size of the buffer cache in bytes, if the run says."""
        return size_in_bytes(self.settings.get("shared_buffers"))

    def _band(self, workload: str, metric: str, params: Params) -> float | None:
        twin = self.get(workload, metric, self.results.twin, params)
        return twin.ratio.resolution if twin and twin.ratio else None

    def _row(self, key: Key, blocks: Mapping[int, float]) -> Row:
        values = list(blocks.values())
        positive = min(values) > 0
        level = geometric_mean(values) if positive else sum(values) / len(values)
        interval = estimate(values) if positive and len(values) > 1 else None
        ratio = None
        if key.contender != self.results.baseline:
            of = self.results.values
            below = of.get(Key(key.workload, self.results.baseline, key.metric, key.params), {})
            twin = of.get(Key(key.workload, self.results.twin, key.metric, key.params))
            ratio = compare(blocks, below, twin)
        return Row(key, self.results.units.get(key.metric, ""), len(values), level, interval, ratio)


def size_in_bytes(setting: Any) -> float | None:
    """Return a size as ``SHOW`` prints it, such as 128MB, in bytes; a bare number counts as bytes."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(B|kB|MB|GB|TB)?\s*", str(setting))
    if found is None:
        return None
    return float(found[1]) * 1024.0 ** ("B", "kB", "MB", "GB", "TB").index(found[2] or "B")


def _sortable(params: Params) -> list[tuple[str, int, float, str]]:
    return [
        (name, isinstance(value, str), 0.0 if isinstance(value, str) or value is None else float(value), str(value))
        for name, value in params
    ]
