"""The 48-bit milliseconds since 1970 that start a ULID and a UUIDv7. Pure integers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from shardflake.errors import InvalidIdError, shown

BITS = 48

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_LAST_MS = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MS


def ms_of(time: datetime) -> int:
    """Return a time in milliseconds since 1970, rounded down.

    :param time: an aware datetime.
    :raises InvalidIdError: for a naive one, or one before 1970.
    """
    if time.tzinfo is None or time.utcoffset() is None:
        raise InvalidIdError(f"{time!r} has no time zone; give an aware datetime, such as datetime.now(UTC)")
    milliseconds = (time - _EPOCH) // _MS
    if milliseconds < 0:
        raise InvalidIdError(f"the time {time.isoformat()} does not fit: it must be 1970-01-01T00:00:00+00:00 or later")
    return milliseconds


def time_of(milliseconds: int) -> datetime:
    """Return the time, UTC, of milliseconds since 1970.

    :raises InvalidIdError: past the year 9999, which a datetime cannot hold and 48 bits can.
    """
    if not 0 <= milliseconds <= _LAST_MS:
        raise InvalidIdError(
            f"{milliseconds} ms since 1970 is no time here: it must be 0 to {_LAST_MS}, the end of the year 9999"
        )
    return _EPOCH + milliseconds * _MS


def half_open(start: datetime, end: datetime) -> tuple[int, int]:
    """Return the milliseconds that start and end a half-open range.

    :raises InvalidIdError: as :func:`ms_of`, or for an end before the start.
    """
    low, high = ms_of(start), ms_of(end)
    if high < low:
        raise InvalidIdError(f"the range ends at {end.isoformat()}, before it starts at {start.isoformat()}")
    return low, high


def check(name: str, value: object, bits: int) -> int:
    """Return the value of a field if it fits.

    :raises InvalidIdError: if it is no int, or not 0 to 2 ** bits - 1.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << bits:
        raise InvalidIdError(f"{name} {shown(value)} does not fit: it must be 0 to {(1 << bits) - 1}")
    return value
