"""The statistics of every benchmark here: ratios within blocks, their geometric mean, and what a run can resolve.

Machines drift: a ratio is taken only between contenders of one block, which ran within the same minutes, and the spread of
those ratios over the blocks says how far they can be trusted. An A/A pair, the same contender measured twice, says how far a
ratio must lie from 1 before it means anything.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SAME = "~"
"""Printed in place of a ratio that lies inside what the run can resolve."""


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


@dataclass(frozen=True, slots=True)
class Ratio:
    """A contender's ratio to the baseline, and what may be said of it.

    :param mean: geometric mean of the ratios within the blocks.
    :param blocks: how many blocks had both.
    :param estimate: mean and 95 % interval; None for a single block.
    :param resolution: factor, at least 1, that the A/A pair cannot resolve; None without such a pair in two blocks.
    """

    mean: float
    blocks: int
    estimate: Estimate | None
    resolution: float | None

    @property
    def claimed(self) -> bool:
        """Whether a difference from 1 may be claimed: outside the A/A band, with an interval that leaves 1 out."""
        return told_from_one(self.estimate, self.resolution)

    def text(self, digits: int = 2) -> str:
        """Return the mean for a table, or ``~`` where no difference may be claimed."""
        return f"{self.mean:.{digits}f}" if self.claimed else SAME

    def interval(self, digits: int = 2) -> str:
        """Return the 95 % interval for a table; empty for a single block."""
        if self.estimate is None:
            return ""
        return f"{self.estimate.low:.{digits}f} to {self.estimate.high:.{digits}f}"


def estimate(values: Sequence[float]) -> Estimate:
    """Return the geometric mean of positive values, one per block, and Student's 95 % interval of their logarithms.

    :raises ValueError: for fewer than two values, or one that is not positive.
    """
    if len(values) < 2 or min(values) <= 0:
        raise ValueError(f"an interval needs two values or more, all positive, not {list(values)}")
    if min(values) == max(values):  # a count, say: exactly that, whatever logarithms round to
        return Estimate(values[0], values[0], values[0], len(values))
    mean, variance = _moments(values)
    margin = student_t(len(values) - 1) * math.sqrt(variance / len(values))
    return Estimate(math.exp(mean), math.exp(mean - margin), math.exp(mean + margin), len(values))


def told_from_one(found: Estimate | None, band: float | None) -> bool:
    """Say whether a ratio lies outside the A/A band, a factor of at least 1, with an interval that leaves 1 out."""
    if found is None or band is None:
        return False
    return not 1 / band <= found.mean <= band and not found.low <= 1 <= found.high


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of one or more positive values.

    :raises ValueError: for none, or one that is not positive.
    """
    if not values or min(values) <= 0:
        raise ValueError(f"a geometric mean needs positive values, not {list(values)}")
    if min(values) == max(values):
        return values[0]
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def ratio_within_blocks(above: Mapping[int, float], below: Mapping[int, float]) -> list[float]:
    """Return above : below for each block that has both, both positive, in the order of the blocks."""
    shared = sorted(above.keys() & below.keys())
    return [above[block] / below[block] for block in shared if above[block] > 0 and below[block] > 0]


def compare(above: Mapping[int, float], below: Mapping[int, float], twin: Mapping[int, float] | None) -> Ratio | None:
    """Return the ratio of a contender to the baseline, from their values by block.

    :param above: the contender's values.
    :param below: the baseline's.
    :param twin: those of the baseline's A/A twin; None if it was not measured.
    :returns: None if no block has both.
    """
    ratios = ratio_within_blocks(above, below)
    if not ratios:
        return None
    found = estimate(ratios) if len(ratios) > 1 else None
    return Ratio(geometric_mean(ratios), len(ratios), found, resolution(twin or {}, below))


def resolution(twin: Mapping[int, float], below: Mapping[int, float]) -> float | None:
    """Return the factor, at least 1, that an A/A pair cannot resolve; None with fewer than two blocks of it."""
    ratios = ratio_within_blocks(twin, below)
    return estimate(ratios).resolution if len(ratios) > 1 else None


def change(before: Sequence[float], after: Sequence[float], confidence: float = 0.95) -> Estimate | None:
    """Return after : before for two runs, whose blocks do not correspond, with Welch's interval of the logarithms.

    The Welch-Satterthwaite degrees of freedom are rounded down, which widens the interval.

    :param confidence: of the interval, below 1.
    :returns: None if a run has fewer than two values, or one that is not positive.
    """
    if min(len(before), len(after)) < 2 or min(*before, *after) <= 0:
        return None
    (mean_before, variance_before), (mean_after, variance_after) = _moments(before), _moments(after)
    first, second = variance_before / len(before), variance_after / len(after)
    ratio = geometric_mean(after) / geometric_mean(before)
    blocks = min(len(before), len(after))
    if first + second < 1e-24:  # counts that never vary, but for the rounding of logarithms
        return Estimate(ratio, ratio, ratio, blocks)
    degrees = (first + second) ** 2 / (first**2 / (len(before) - 1) + second**2 / (len(after) - 1))
    margin = student_t(max(1, math.floor(degrees)), confidence) * math.sqrt(first + second)
    difference = mean_after - mean_before
    return Estimate(ratio, math.exp(difference - margin), math.exp(difference + margin), blocks)


def student_t(degrees: int, confidence: float = 0.95) -> float:
    """Return the t that Student's distribution stays within, on both sides of 0, with a probability.

    :param degrees: of freedom, 1 or more.
    :param confidence: the probability, below 1; 0.95 gives the 97.5 % quantile.

    Bisects on the angle whose tangent is t / √degrees, for which the distribution is a finite sum.
    """
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        angle = (low + high) / 2
        low, high = (angle, high) if _within(angle, degrees) < confidence else (low, angle)
    return math.tan(high) * math.sqrt(degrees)


def _moments(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the variance of the logarithms."""
    logarithms = [math.log(value) for value in values]
    mean = math.fsum(logarithms) / len(values)
    return mean, math.fsum((value - mean) ** 2 for value in logarithms) / (len(values) - 1)


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
