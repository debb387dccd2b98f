"""ULIDs: 128 bits, 48 of milliseconds since 1970 and 80 random ones, as 26 characters of Crockford's base 32.

A ULID is an ``int`` here, 0 to 2**128 - 1, and a ``str`` outside; the two sort alike.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from shardflake import crockford, unixtime
from shardflake.errors import ExhaustedError

LENGTH = 26
BITS = 128
RANDOM_BITS = 80


@dataclass(frozen=True, slots=True, order=True)
class UlidParts:
    """The parts of a ULID.

    :param unix_ms: milliseconds since 1970, 0 to 2**48 - 1.
    :param random: 0 to 2**80 - 1.
    """

    unix_ms: int
    random: int

    @property
    def time(self) -> datetime:
        """When it was made, UTC.

        :raises InvalidIdError: if that is past the year 9999.
        """
        return unixtime.time_of(self.unix_ms)


def parse(text: object) -> int:
    """Return the number that a ULID stands for.

    :param text: 26 characters in upper case, at most ``7ZZZZZZZZZZZZZZZZZZZZZZZZZ``.
    :raises InvalidIdError: for anything else; for lower case and I, L and O too, saying how the ULID is written.
    """
    return crockford.decode(text, length=LENGTH, bits=BITS, kind="a ULID")


def render(value: int) -> str:
    """Return the text of a ULID given as a number.

    :raises InvalidIdError: if the number is not 0 to 2**128 - 1.
    """
    return crockford.encode(unixtime.check("ULID", value, BITS), LENGTH)


def decode(text: str) -> UlidParts:
    """Take a ULID apart.

    :raises InvalidIdError: as :func:`parse`.
    """
    return parts_of(parse(text))


def parts_of(value: int) -> UlidParts:
    """Take a number of 128 bits apart as a ULID.

    :raises InvalidIdError: if it is not 0 to 2**128 - 1.
    """
    unixtime.check("ULID", value, BITS)
    return UlidParts(value >> RANDOM_BITS, value & ((1 << RANDOM_BITS) - 1))


def make(unix_ms: int, random: int) -> str:
    """Return the ULID with these parts.

    :param unix_ms: milliseconds since 1970, 0 to 2**48 - 1.
    :param random: 0 to 2**80 - 1.
    :raises InvalidIdError: if a part does not fit.
    """
    unixtime.check("time", unix_ms, unixtime.BITS)
    return render(unix_ms << RANDOM_BITS | unixtime.check("random", random, RANDOM_BITS))


def time_range(start: datetime, end: datetime) -> tuple[str, str]:
    """Return ``(low, high)`` such that ``low <= ulid < high`` holds for exactly the ULIDs of a half-open time range.

    :param start: aware, inclusive; rounded down to the millisecond.
    :param end: aware, exclusive; rounded down to the millisecond.
    :raises InvalidIdError: for naive times, times before 1970, or an end before the start.
    """
    low, high = unixtime.half_open(start, end)
    return make(low, 0), make(high, 0)


class UlidGenerator:
    """Makes ULIDs that increase strictly, in one process, whatever its clock and threads do.

    In a new millisecond the 80 bits are random; in the same one, or after the clock was set back, they count up by one, as
    the format has it. A forked process starts anew with random bits, for the parent counts on from the same ones.

    :param clock: milliseconds since 1970.
    """

    def __init__(self, clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._clock = clock
        self._start_anew()
        if hasattr(os, "register_at_fork"):
            # Weak, for a registration cannot be taken back.
            os.register_at_fork(after_in_child=partial(_start_anew_if_alive, weakref.ref(self)))

    def _start_anew(self) -> None:
        self._lock = threading.Lock()  # another thread may have held the parent's when it forked
        self._last = -1

    def __call__(self) -> str:
        """Return the next ULID.

        :raises ExhaustedError: when the random bits of one millisecond were counted to their end.
        :raises InvalidIdError: when the clock stands before 1970 or past 48 bits.
        """
        with self._lock:
            now = unixtime.check("time", self._clock(), unixtime.BITS)
            if now > self._last >> RANDOM_BITS:
                self._last = now << RANDOM_BITS | secrets.randbits(RANDOM_BITS)
            elif (self._last + 1) >> RANDOM_BITS > self._last >> RANDOM_BITS:
                raise ExhaustedError(f"no ULID of the millisecond {self._last >> RANDOM_BITS} is left; try again in the next")
            else:
                self._last += 1
            return crockford.encode(self._last, LENGTH)


def _start_anew_if_alive(generator: weakref.ref[UlidGenerator]) -> None:
    if (found := generator()) is not None:
        found._start_anew()
