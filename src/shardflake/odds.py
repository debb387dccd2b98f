"""Odds that random ids collide. Pure.

n ids drawn at random from 2^b collide with a probability of about n^2 / 2^(b+1): there are n(n-1)/2 pairs, and each is equal
with probability 2^-b. Where a time leads, only ids of the same tick can meet: at a rate of r ids a tick, each of T ticks adds
r^2 / 2^(b+1), so the sum is T r^2 / 2^(b+1). Spreading the same ids over T ticks thus divides the odds by T.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from shardflake.errors import InvalidIdError, shown

YEAR_SECONDS = 31_557_600
"""365.25 days."""

_MOST = 10**18


_SIZES = ((1e12, " trillion"), (1e9, " billion"), (1e6, " million"), (1e3, " thousand"), (1, ""))


@dataclass(frozen=True, slots=True)
class RandomKind:
    """A kind of id that relies on chance.

    :param name: of the kind.
    :param random_bits: those that differ between two ids of the same tick.
    :param tick_ms: how long ids share a prefix of time, in milliseconds; None if they have none.
    :param note: which bits count, and which do not.
    """

    name: str
    random_bits: int
    tick_ms: int | None
    note: str


RANDOM_KINDS = (
    RandomKind("uuidv4", 122, None, "128 less 4 of version and 2 of variant"),
    RandomKind("ulid", 80, 1, "128 less 48 of time"),
    RandomKind("uuidv7", 74, 1, "128 less 48 of time, 4 of version and 2 of variant"),
)


def expected_collisions(kind: RandomKind, per_second: int, seconds: int) -> Fraction:
    """Return how many equal pairs to expect, exactly by the formula.

    :param per_second: ids a second, spread evenly.
    :param seconds: for how long.
    :raises InvalidIdError: if either is not 1 to 10**18.
    """
    if not 1 <= per_second <= _MOST or not 1 <= seconds <= _MOST:
        raise InvalidIdError(f"{shown(per_second)} ids a second for {shown(seconds)} s: both must be 1 to {_MOST}")
    if kind.tick_ms is None:
        return Fraction((per_second * seconds) ** 2, 1 << kind.random_bits + 1)
    per_tick = Fraction(per_second * kind.tick_ms, 1000)
    ticks = Fraction(seconds * 1000, kind.tick_ms)
    return ticks * per_tick**2 / (1 << kind.random_bits + 1)


def probability(expected: Fraction) -> float:
    """Return the probability of one collision or more, when so many are to be expected: 1 - e^-expected."""
    return -math.expm1(-float(min(expected, Fraction(10**6))))


def in_words(chance: float) -> str:
    """Return a probability as "1 in 77 million", with three digits; "certain" above 99.5 %."""
    if chance > 0.995:
        return "certain"
    if chance <= 0:
        return "none"
    count = 1 / chance
    if count >= 1e15:
        return f"1 in {count:.1e}"
    size, word = next((size, word) for size, word in _SIZES if count >= size)
    return f"1 in {count / size:.3g}{word}"
