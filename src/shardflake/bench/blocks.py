"""Randomised blocks, and the samples that come out of them: pure functions, no server."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from shardflake.bench.statistics import Estimate, estimate, ratio_within_blocks


@dataclass(frozen=True, slots=True)
class Sample:
    """One number measured: where in the run, of what, and its value in the metric's own unit."""

    block: int
    position: int
    workload: str
    contender: str
    metric: str
    value: float


def plan(workloads: Mapping[str, Sequence[str]], seed: int, block: int) -> list[tuple[str, str]]:
    """Return a block's sections, (workload, contender), in random order: workloads shuffled, and contenders within each.

    :param workloads: contenders by workload.
    :param seed: of the whole run; the same seed and block give the same order.
    """
    generator = random.Random(f"{seed}/{block}")  # noqa: S311  (an order, not a secret)
    names = list(workloads)
    generator.shuffle(names)
    return [(name, contender) for name in names for contender in generator.sample(workloads[name], len(workloads[name]))]


def by_block(samples: Iterable[Sample], workload: str, metric: str, contender: str) -> dict[int, float]:
    """Return a contender's values of one metric by block."""
    wanted = (workload, metric, contender)
    return {sample.block: sample.value for sample in samples if (sample.workload, sample.metric, sample.contender) == wanted}


def ratio(samples: Sequence[Sample], workload: str, metric: str, contender: str, baseline: str) -> Estimate | None:
    """Return the estimate of contender : baseline within the blocks that have both; None if no two blocks do."""
    above = by_block(samples, workload, metric, contender)
    below = by_block(samples, workload, metric, baseline)
    ratios = ratio_within_blocks(above, below)
    return estimate(ratios) if len(ratios) > 1 else None
