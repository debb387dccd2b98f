"""Compare two runs of ``shardflake bench``: what changed from one to the other, beyond what they can resolve."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from shardflake.bench.statistics import SAME, Estimate, change, geometric_mean, ratio_within_blocks, resolution, told_from_one
from shardflake.bench.storage import Key, Results
from shardflake.errors import ResultsError

_SERVER = ("version_num", "build_options", "settings")


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that both runs measured.

    :param relative: whether the values are ratios to the baseline within blocks, which cancel what the machine did meanwhile;
        those of the baseline itself, and of what was measured without it, are absolute.
    :param before: geometric mean in the first run.
    :param after: geometric mean in the second.
    :param estimate: after : before with its 95 % interval; None with fewer than two blocks in a run.
    :param wide: the same with the interval that holds for everything compared at once (Bonferroni); claims rest on it.
    :param resolution: the wider A/A band of the two runs, as a factor of at least 1; None if a run has none.
    """

    key: Key
    relative: bool
    before: float
    after: float
    estimate: Estimate | None
    wide: Estimate | None
    resolution: float | None

    @property
    def claimed(self) -> bool:
        """Whether a change may be claimed: outside the A/A band of both runs, with a wide interval that leaves 1 out."""
        return told_from_one(self.wide, self.resolution)

    @property
    def text(self) -> str:
        """The change as a table shows it: a factor, or ``~``."""
        return f"{self.estimate.mean:.3f}" if self.claimed and self.estimate else SAME


def check_comparable(before: Results, after: Results, *, across_machines: bool = False) -> list[str]:
    """Return what a reader must be told of two runs before their changes.

    :raises ResultsError: they ran on different machines and ``across_machines`` is not set.
    """
    first, second = _machine(before), _machine(after)
    different = [f"{name} {first[name]!r} and {second[name]!r}" for name in first if first[name] != second.get(name)]
    if different and not across_machines:
        raise ResultsError(
            f"these runs are of different machines: {'; '.join(different)}. Times of different machines say nothing about a "
            "change; --across-machines compares them all the same"
        )
    remarks = [f"Different machines: {'; '.join(different)}."] if different else []
    for name in _SERVER:
        left, right = (each.header.get("server", {}).get(name) for each in (before, after))
        if left != right:
            remarks.append(f"The servers differ in {name.replace('_', ' ')}: {_difference(left, right)}.")
    for name in ("profile", "seed"):
        left, right = before.header.get(name), after.header.get(name)
        if left != right:
            remarks.append(f"{name.capitalize()}s differ: {left} and {right}.")
    return remarks


def changes(before: Results, after: Results) -> Iterator[Change]:
    """Yield what both runs measured, in the order of the first: geometric means, their ratio, and what may be said of it."""
    shared = [key for key in before.values if key in after.values and key.contender != before.twin]
    confidence = 1 - 0.05 / max(len(shared), 1)
    for key in shared:
        first, second = _ratios(before, key), _ratios(after, key)
        relative = bool(first and second)
        if not relative:
            first, second = list(before.values[key].values()), list(after.values[key].values())
        if min(*first, *second) <= 0:
            continue  # a count of 0 has no ratio
        bands = [band for run in (before, after) if (band := _band(run, key)) is not None]
        wider = max(bands) if len(bands) == 2 else None
        means = geometric_mean(first), geometric_mean(second)
        yield Change(key, relative, *means, change(first, second), change(first, second, confidence), wider)


def _ratios(run: Results, key: Key) -> list[float]:
    """Return a run's ratios to the baseline within blocks; none for the baseline itself."""
    if key.contender == run.baseline:
        return []
    return ratio_within_blocks(run.values[key], run.values.get(_of(key, run.baseline), {}))


def _band(run: Results, key: Key) -> float | None:
    return resolution(run.values.get(_of(key, run.twin), {}), run.values.get(_of(key, run.baseline), {}))


def _of(key: Key, contender: str) -> Key:
    return Key(key.workload, contender, key.metric, key.params)


def _machine(run: Results) -> dict[str, Any]:
    machine = run.header.get("machine") or {}
    return {name: machine.get(name) for name in ("cpu", "cores", "memory_bytes", "os")}


def _difference(left: Any, right: Any) -> str:
    if isinstance(left, dict) and isinstance(right, dict):
        names = sorted(name for name in left.keys() | right.keys() if left.get(name) != right.get(name))
        return ", ".join(f"{name} {left.get(name)} and {right.get(name)}" for name in names)
    return f"{left} and {right}"
