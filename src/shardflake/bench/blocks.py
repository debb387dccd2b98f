"""Randomised blocks and the statistics of ratios within them: pure functions, no server.

Machines drift: a ratio is taken only between contenders of one block, which ran within the same minutes, and the spread of
those ratios over the blocks says how far they can be trusted.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sample:
    """One number measured: where in the run, of what, and its value in the metric's own unit."""

    block: int
    position: int
    workload: str
    contender: str
    metric: str
    value: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """A geometric mean over blocks and its 95 % interval."""

    mean: float
    low: float
    high: float
    blocks: int

    @property
    def resolution(self) -> float:
        """The factor, at least 1, by which the interval reaches away from 1; of an A/A pair: what a run cannot resolve."""
        return math.exp(max(abs(math.log(self.low)), abs(math.log(self.high))))


def plan(workloads: Mapping[str, Sequence[str]], seed: int, block: int) -> list[tuple[str, str]]:
    """Return a block's sections, (workload, contender), in random order: workloads shuffled, and contenders within each.

    :param workloads: contenders by workload.
    :param seed: of the whole run; the same seed and block give the same order.
    """
    generator = random.Random(f"{seed}/{block}")  # noqa: S311  (an order, not a secret)
    names = list(workloads)
    generator.shuffle(names)
    return [(name, contender) for name in names for contender in generator.sample(workloads[name], len(workloads[name]))]


def estimate(values: Sequence[float]) -> Estimate:
    """Return the geometric mean of positive values, one per block, and Student's 95 % interval of their logarithms.

    :raises ValueError: for fewer than two values, or one that is not positive.
    """
    if len(values) < 2 or min(values) <= 0:
        raise ValueError(f"an interval needs two values or more, all positive, not {list(values)}")
    if min(values) == max(values):  # a count, say: exactly that, whatever logarithms round to
        return Estimate(values[0], values[0], values[0], len(values))
    logarithms = [math.log(value) for value in values]
    mean = math.fsum(logarithms) / len(values)
    variance = math.fsum((value - mean) ** 2 for value in logarithms) / (len(values) - 1)
    margin = student_t(len(values) - 1) * math.sqrt(variance / len(values))
    return Estimate(math.exp(mean), math.exp(mean - margin), math.exp(mean + margin), len(values))


def by_block(samples: Iterable[Sample], workload: str, metric: str, contender: str) -> dict[int, float]:
    """Return a contender's values of one metric by block."""
    wanted = (workload, metric, contender)
    return {sample.block: sample.value for sample in samples if (sample.workload, sample.metric, sample.contender) == wanted}


def ratio(samples: Sequence[Sample], workload: str, metric: str, contender: str, baseline: str) -> Estimate | None:
    """Return the estimate of contender : baseline within the blocks that have both; None if no two blocks do."""
    above = by_block(samples, workload, metric, contender)
    below = by_block(samples, workload, metric, baseline)
    shared = sorted(above.keys() & below.keys())
    return estimate([above[block] / below[block] for block in shared]) if len(shared) > 1 else None


def student_t(degrees: int) -> float:
    """Return the 97.5 % quantile of Student's distribution with a whole number of degrees of freedom.

    Bisects on the angle whose tangent is t / √degrees, for which the distribution is a finite sum.
    """
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        angle = (low + high) / 2
        low, high = (angle, high) if _within(angle, degrees) < 0.95 else (low, angle)
    return math.tan(high) * math.sqrt(degrees)


def _within(angle: float, degrees: int) -> float:
    """Return the probability of |T| <= √degrees · tan(angle) (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    odd = degrees % 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0
    for power in range(odd, degrees - 1, 2):
        total += term
        term *= math.cos(angle) ** 2 * (power + 1) / (power + 2)
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total
