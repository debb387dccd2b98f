"""Bit layouts of 64-bit ids: which fields they have, in which order, and what they mean. Pure integers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

from shardflake.errors import InvalidIdError

MAX_ID = 2**63 - 1
"""Largest value of a PostgreSQL bigint, and so of an id."""

_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a layout.

    :param name: ``time``, or the name of a part such as ``shard`` or ``counter``.
    :param bits: width in bits, 1 to 63.
    """

    name: str
    bits: int

    @property
    def capacity(self) -> int:
        """Number of different values, 2 ** bits."""
        return 1 << self.bits


@dataclass(frozen=True)
class Layout:
    """A way to divide the 63 usable bits of a bigint, most significant field first.

    :param name: for messages and the command line.
    :param fields: from the most to the least significant, one of them named ``time``; 63 bits at most.
    :param epoch_ms: where the time field starts, in milliseconds since 1970-01-01 UTC.
    :param tick_ms: what one unit of the time field lasts, in milliseconds.
    :raises InvalidIdError: if the widths do not fit, or no field or more than one is the time.
    """

    name: str
    fields: tuple[Field, ...]
    epoch_ms: int
    tick_ms: int = 1

    def __post_init__(self) -> None:
        names = [field.name for field in self.fields]
        if names.count("time") != 1 or len(set(names)) != len(names):
            raise InvalidIdError(f"layout {self.name}: fields {names} must have different names, one of them 'time'")
        if any(field.bits < 1 for field in self.fields) or sum(field.bits for field in self.fields) > 63:
            widths = " + ".join(str(field.bits) for field in self.fields)
            raise InvalidIdError(f"layout {self.name}: widths {widths} must be positive and sum to 63 at most")
        if self.tick_ms < 1:
            raise InvalidIdError(f"layout {self.name}: a tick of {self.tick_ms} ms must be 1 ms or longer")

    @cached_property
    def shifts(self) -> Mapping[str, int]:
        """How far each field is shifted left, in bits."""
        shifts, position = {}, 0
        for field in reversed(self.fields):
            shifts[field.name] = position
            position += field.bits
        return shifts

    @cached_property
    def time(self) -> Field:
        """The time field."""
        return next(field for field in self.fields if field.name == "time")

    @cached_property
    def first_time(self) -> datetime:
        """The epoch, UTC."""
        return _UNIX_EPOCH + timedelta(milliseconds=self.epoch_ms)

    @cached_property
    def last_time(self) -> datetime:
        """The last tick that the time field can hold, UTC."""
        return self.first_time + timedelta(milliseconds=(self.time.capacity - 1) * self.tick_ms)

    def tick_of(self, time: datetime) -> int:
        """Return the tick that a time falls into: ticks since the epoch, rounded down.

        :param time: an aware datetime.
        :raises InvalidIdError: for a naive datetime, or one outside the time field.
        """
        if time.tzinfo is None or time.utcoffset() is None:
            raise InvalidIdError(f"{time!r} has no time zone; give an aware datetime, such as datetime.now(UTC)")
        tick = (time - self.first_time) // timedelta(milliseconds=self.tick_ms)
        if not 0 <= tick < self.time.capacity:
            raise InvalidIdError(
                f"no id of layout {self.name} can hold the time {time.isoformat()}; "
                f"it holds {self.first_time.isoformat()} to {self.last_time.isoformat()}"
            )
        return tick

    def time_of_tick(self, tick: int) -> datetime:
        """Return when a tick starts, UTC."""
        return self.first_time + timedelta(milliseconds=tick * self.tick_ms)

    def encode(self, **values: int) -> int:
        """Put fields together into an id.

        :param values: an integer for every field, ``time`` in ticks since the epoch.
        :returns: the id, 0 to 2**63 - 1.
        :raises InvalidIdError: for a missing, unknown or non-integer field, or one that does not fit its width.
        """
        if values.keys() != self.shifts.keys():
            raise InvalidIdError(f"layout {self.name} has the fields {list(self.shifts)}, not {list(values)}")
        result = 0
        for field in self.fields:
            value = values[field.name]
            if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < field.capacity:
                raise InvalidIdError(f"{field.name} {value!r} does not fit: it must be 0 to {field.capacity - 1}")
            result |= value << self.shifts[field.name]
        return result

    def decode(self, value: int) -> dict[str, int]:
        """Take an id apart into its fields, ``time`` in ticks since the epoch.

        :param value: an id, 0 to 2**63 - 1; checked by :func:`shardflake.ids.parse_id` at the edges, not here.
        """
        return {field.name: (value >> self.shifts[field.name]) & (field.capacity - 1) for field in self.fields}


SHARDFLAKE = Layout(
    "shardflake",
    (Field("time", 40), Field("shard", 13), Field("counter", 10)),
    epoch_ms=1_735_689_600_000,
)
"""40 bits of milliseconds since 2025-01-01 UTC, 13 of shard, 10 of counter: ids until late 2059."""

TWITTER = Layout("twitter", (Field("time", 41), Field("shard", 10), Field("counter", 12)), epoch_ms=1_288_834_974_657)
"""Twitter's snowflake; the shard is datacenter * 32 + worker."""

DISCORD = Layout("discord", (Field("time", 41), Field("shard", 10), Field("counter", 12)), epoch_ms=1_420_070_400_000)
"""Discord's snowflake, of whose 42 bits of time 41 fit a bigint; the shard is worker * 32 + process."""

SONYFLAKE = Layout(
    "sonyflake", (Field("time", 39), Field("counter", 8), Field("shard", 16)), epoch_ms=1_735_689_600_000, tick_ms=10
)
"""Sonyflake: ticks of 10 ms, the counter above the machine id."""

INSTAGRAM = Layout("instagram", (Field("time", 40), Field("shard", 13), Field("counter", 10)), epoch_ms=1_314_220_021_721)
"""Instagram's, of whose 41 bits of time 40 fit a bigint: ids until 2046."""

JAVASCRIPT = Layout("javascript", (Field("time", 41), Field("shard", 5), Field("counter", 7)), epoch_ms=1_735_689_600_000)
"""53 bits, exact as a JavaScript number: until 2094, 32 shards, 128 ids per millisecond."""

PRESETS = {layout.name: layout for layout in (SHARDFLAKE, TWITTER, DISCORD, SONYFLAKE, INSTAGRAM, JAVASCRIPT)}
"""Layouts by name, as ``shardflake.assign_shard()`` takes them."""
