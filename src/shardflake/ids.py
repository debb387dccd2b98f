"""Read, make and bound ids. Pure: no clock, no server."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from shardflake.errors import InvalidIdError, shown
from shardflake.layout import MAX_ID, SHARDFLAKE


@dataclass(frozen=True, slots=True, order=True)
class DecodedId:
    """The parts of an id.

    :param time: when it was drawn, UTC, to the millisecond.
    :param shard: shard id, 0 to 8191.
    :param counter: 0 to 1023 within the millisecond.
    """

    time: datetime
    shard: int
    counter: int


def parse_id(value: object) -> int:
    """Return an id given as an int or as its decimal digits.

    :param value: an int, or a str of ASCII digits without sign, spaces or leading zeros.
    :returns: 0 to 2**63 - 1.
    :raises InvalidIdError: for anything else; floats and bools too, which would lose or invent digits.
    """
    if isinstance(value, str):
        if value[:1] == "-" and value[1:].isdigit():
            raise InvalidIdError(f"{value} is not an id: ids are 0 to {MAX_ID}, never negative")
        if not (value.isascii() and value.isdigit()) or (value[0] == "0" and value != "0"):
            raise InvalidIdError(f"{value!r} is not an id: give decimal digits, such as '506528756379161600'")
        number = int(value) if len(value) <= 19 else MAX_ID + 1
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    else:
        raise InvalidIdError(f"{shown(value)} is a {type(value).__name__}, not an id: give an int or its decimal digits")
    if not 0 <= number <= MAX_ID:
        raise InvalidIdError(f"{value if isinstance(value, str) else shown(value)} is not an id: ids are 0 to {MAX_ID}")
    return number


def decode(value: int | str) -> DecodedId:
    """Take an id apart.

    :param value: what :func:`parse_id` accepts.
    :raises InvalidIdError: if it is no id.
    """
    fields = SHARDFLAKE.decode(parse_id(value))
    return DecodedId(SHARDFLAKE.time_of_tick(fields["time"]), fields["shard"], fields["counter"])


def make_id(time: datetime, shard: int, counter: int = 0) -> int:
    """Return the id with these parts; for tests and bounds, never to stand in for the generator.

    :param time: aware; rounded down to the millisecond.
    :param shard: 0 to 8191.
    :param counter: 0 to 1023.
    :raises InvalidIdError: if a part does not fit.
    """
    return SHARDFLAKE.encode(time=SHARDFLAKE.tick_of(time), shard=shard, counter=counter)


def min_id(time: datetime) -> int:
    """Return the smallest id of a time's millisecond, of any shard.

    :param time: aware; rounded down to the millisecond.
    :raises InvalidIdError: for a naive time, or one that ids cannot hold.
    """
    return SHARDFLAKE.min_id(time)


def max_id(time: datetime) -> int:
    """Return the largest id of a time's millisecond, of any shard; otherwise as :func:`min_id`."""
    return SHARDFLAKE.max_id(time)


def time_range(start: datetime, end: datetime) -> tuple[int, int]:
    """Return ``(low, high)`` such that ``low <= id < high`` holds for exactly the ids of a half-open time range.

    :param start: aware, inclusive; rounded down to the millisecond.
    :param end: aware, exclusive; rounded down to the millisecond.
    :raises InvalidIdError: for naive times, times that ids cannot hold, or an end before the start.
    """
    return SHARDFLAKE.time_range(start, end)
