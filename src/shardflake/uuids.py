"""UUIDs as RFC 9562 has them: version 7 read, made and bounded, version 4 recognised."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from shardflake import unixtime
from shardflake.errors import InvalidIdError, shown

RAND_A_BITS = 12
RAND_B_BITS = 62

_VARIANT = 0b10  # RFC 9562, 4.1: the two bits above the lower 62
_TEXT = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")


@dataclass(frozen=True, slots=True, order=True)
class Uuid7Parts:
    """The parts of a UUIDv7.

    :param unix_ms: milliseconds since 1970, 0 to 2**48 - 1.
    :param rand_a: 12 bits: random, or what their maker counts or measures there.
    :param rand_b: 62 bits, random.
    """

    unix_ms: int
    rand_a: int
    rand_b: int

    @property
    def time(self) -> datetime:
        """When it was made, UTC.

        :raises InvalidIdError: if that is past the year 9999.
        """
        return unixtime.time_of(self.unix_ms)


def parse(text: object) -> UUID:
    """Return the UUID that a text stands for, of any version.

    :param text: 8-4-4-4-12 hexadecimal digits in upper or lower case; no braces, no ``urn:``, all four hyphens.
    :raises InvalidIdError: for anything else.
    """
    if not isinstance(text, str):
        raise InvalidIdError(f"{shown(text)} is a {type(text).__name__}, not a UUID: give its 36 characters")
    if len(text) != 36:
        raise InvalidIdError(f"{text[:64]!r} is not a UUID: it has {len(text)} characters, not 36")
    if not _TEXT.fullmatch(text):
        raise InvalidIdError(f"{text!r} is not a UUID: give 8-4-4-4-12 hexadecimal digits")
    return UUID(text)


def version_of(value: UUID) -> int:
    """Return the version of a UUID.

    :raises InvalidIdError: if its variant is another than RFC 9562's, so that it has no version.
    """
    if (variant := value.int >> RAND_B_BITS & 3) != _VARIANT:
        raise InvalidIdError(
            f"{value} is a UUID of variant {variant:02b}, which has no version; RFC 9562 has variant {_VARIANT:b}"
        )
    return value.int >> 76 & 15


def check_version(value: UUID, version: int) -> None:
    """Refuse a UUID of another version.

    :raises InvalidIdError: for that, or for another variant.
    """
    if (found := version_of(value)) != version:
        raise InvalidIdError(f"{value} is a UUID of version {found}, not {version}")


def decode_v7(value: UUID | str) -> Uuid7Parts:
    """Take a UUIDv7 apart.

    :raises InvalidIdError: if it is none: no UUID, of another version or variant.
    """
    uuid = value if isinstance(value, UUID) else parse(value)
    check_version(uuid, 7)
    number = uuid.int
    return Uuid7Parts(number >> 80, number >> 64 & ((1 << RAND_A_BITS) - 1), number & ((1 << RAND_B_BITS) - 1))


def make_v7(unix_ms: int, rand_a: int, rand_b: int) -> UUID:
    """Return the UUIDv7 with these parts.

    :param unix_ms: milliseconds since 1970, 0 to 2**48 - 1.
    :param rand_a: 0 to 4095.
    :param rand_b: 0 to 2**62 - 1.
    :raises InvalidIdError: if a part does not fit.
    """
    high = unixtime.check("time", unix_ms, unixtime.BITS) << 16 | 7 << 12 | unixtime.check("rand_a", rand_a, RAND_A_BITS)
    return UUID(int=high << 64 | _VARIANT << RAND_B_BITS | unixtime.check("rand_b", rand_b, RAND_B_BITS))


def time_range_v7(start: datetime, end: datetime) -> tuple[UUID, UUID]:
    """Return ``(low, high)`` such that ``low <= uuid < high`` holds for exactly the UUIDv7 of a half-open time range.

    :param start: aware, inclusive; rounded down to the millisecond.
    :param end: aware, exclusive; rounded down to the millisecond.
    :raises InvalidIdError: for naive times, times before 1970, or an end before the start.
    """
    low, high = unixtime.half_open(start, end)
    return make_v7(low, 0, 0), make_v7(high, 0, 0)
