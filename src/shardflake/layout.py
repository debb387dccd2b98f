"""Bit layouts of 64-bit ids: which fields they have, in which order, and what they mean. Pure integers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from datetime import UTC, datetime, timedelta
from functools import cached_property

from shardflake import packing
from shardflake.errors import InvalidIdError, shown

MAX_ID = 2**63 - 1
"""Largest value of a PostgreSQL bigint, and so of an id."""

_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_YEAR = timedelta(days=365.25)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a layout.

    :param name: ``time``, or the name of a part such as ``shard`` or ``counter``.
    :param bits: width in bits, 1 to 63.
    :param parts: how the format that the layout is of divides the field, most significant part first; empty if it does not.
    """

    name: str
    bits: int
    parts: tuple[Field, ...] = ()

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
    :raises InvalidIdError: if the widths do not fit, no field or more than one is the time, or the time ends after 9999.
    """

    name: str
    fields: tuple[Field, ...]
    epoch_ms: int
    tick_ms: int = 1

    def __post_init__(self) -> None:
        names = [field.name for field in self.fields] + [part.name for field in self.fields for part in field.parts]
        if names.count("time") != 1 or len(set(names)) != len(names):
            raise InvalidIdError(f"layout {self.name}: fields {names} must have different names, one of them 'time'")
        if any(field.bits < 1 for field in (*self.fields, *self.leaves)) or self.bits > 63:
            widths = " + ".join(str(field.bits) for field in self.fields)
            raise InvalidIdError(f"layout {self.name}: widths {widths} must be positive and sum to 63 at most")
        for field in self.fields:
            if field.parts and sum(part.bits for part in field.parts) != field.bits:
                widths = " + ".join(str(part.bits) for part in field.parts)
                raise InvalidIdError(f"layout {self.name}: parts {widths} of {field.name} must sum to its {field.bits} bits")
        if self.tick_ms < 1:
            raise InvalidIdError(f"layout {self.name}: a tick of {self.tick_ms} ms must be 1 ms or longer")
        try:
            self.first_time, self.last_time  # noqa: B018
        except OverflowError:
            raise InvalidIdError(
                f"layout {self.name}: {self.time.bits} bits of {self.tick_ms} ms from {self.epoch_ms} ms "
                "must stay within the years 1 to 9999"
            ) from None

    def __getstate__(self) -> dict[str, object]:
        """Leave out what is worked out on first use: it holds functions, which cannot be pickled."""
        return {field.name: getattr(self, field.name) for field in dataclass_fields(self)}

    @cached_property
    def bits(self) -> int:
        """Width of an id, in bits."""
        return sum(field.bits for field in self.fields)

    @cached_property
    def largest(self) -> int:
        """The largest id."""
        return (1 << self.bits) - 1

    @cached_property
    def leaves(self) -> tuple[Field, ...]:
        """The fields, with those that have parts replaced by them."""
        return tuple(leaf for field in self.fields for leaf in field.parts or (field,))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the fields, in their order."""
        return tuple(field.name for field in self.fields)

    @cached_property
    def shifts(self) -> Mapping[str, int]:
        """How far each field is shifted left, in bits."""
        return packing.shifts(self.fields)

    @cached_property
    def time(self) -> Field:
        """The time field."""
        return next(field for field in self.fields if field.name == "time")

    @cached_property
    def first_time(self) -> datetime:
        """The epoch, UTC."""
        return _UNIX_EPOCH + self.epoch_ms * _MS

    @cached_property
    def last_time(self) -> datetime:
        """The last tick that the time field can hold, UTC."""
        return self.first_time + (self.time.capacity - 1) * self.tick_ms * _MS

    @cached_property
    def years(self) -> float:
        """How long the time field lasts from its epoch on, in years of 365.25 days."""
        return self.time.capacity * self.tick_ms * _MS / _YEAR

    @cached_property
    def shards(self) -> int:
        """How many shards can be told apart."""
        return next((field.capacity for field in self.fields if field.name == "shard"), 1)

    @cached_property
    def ids_per_second(self) -> float:
        """How many ids one shard can make in a second."""
        others = [field for field in self.fields if field.name not in ("time", "shard")]
        return 1000 * (1 << sum(field.bits for field in others)) / self.tick_ms

    def years_left(self, now: datetime) -> float:
        """Return how many years of 365.25 days the time field lasts from a time on; negative when it is over.

        :param now: an aware datetime.
        """
        return (self.last_time - now) / _YEAR

    def tick_of(self, time: datetime) -> int:
        """Return the tick that a time falls into: ticks since the epoch, rounded down.

        :param time: an aware datetime.
        :raises InvalidIdError: for a naive datetime, or one outside the time field.
        """
        if time.tzinfo is None or time.utcoffset() is None:
            raise InvalidIdError(f"{time!r} has no time zone; give an aware datetime, such as datetime.now(UTC)")
        tick = (time - self.first_time) // (self.tick_ms * _MS)
        if not 0 <= tick < self.time.capacity:
            raise InvalidIdError(
                f"no id of layout {self.name} can hold the time {time.isoformat()}; "
                f"it holds {self.first_time.isoformat()} to {self.last_time.isoformat()}"
            )
        return tick

    def time_of_tick(self, tick: int) -> datetime:
        """Return when a tick starts, UTC."""
        return self.first_time + tick * self.tick_ms * _MS

    def min_id(self, time: datetime) -> int:
        """Return the smallest id of a time's tick, of any shard.

        :param time: aware; rounded down to the tick.
        :raises InvalidIdError: for a naive time, one that ids cannot hold, or a layout that does not sort by time.
        """
        if self.fields[0] is not self.time:
            raise InvalidIdError(f"layout {self.name} has {self.fields[0].name} above the time: no range of ids is one of time")
        return self.tick_of(time) << self.shifts["time"]

    def max_id(self, time: datetime) -> int:
        """Return the largest id of a time's tick, of any shard; otherwise as :meth:`min_id`."""
        return self.min_id(time) | ((1 << self.shifts["time"]) - 1)

    def time_range(self, start: datetime, end: datetime) -> tuple[int, int]:
        """Return ``(low, high)`` such that ``low <= id < high`` holds for exactly the ids of a half-open time range.

        :param start: aware, inclusive; rounded down to the tick.
        :param end: aware, exclusive; rounded down to the tick.
        :raises InvalidIdError: as :meth:`min_id`, or for an end before the start.
        """
        low, high = self.min_id(start), self.min_id(end)
        if high < low:
            raise InvalidIdError(f"the range ends at {end.isoformat()}, before it starts at {start.isoformat()}")
        return low, high

    @cached_property
    def pack(self) -> Callable[..., int]:
        """The function that puts the values of all fields, in their order, together into an id; raises as :attr:`encode`."""
        return packing.packer(self)

    @cached_property
    def unpack(self) -> Callable[[int], tuple[int, ...]]:
        """The function that takes an id apart into the values of all fields, in their order; raises as :attr:`decode`."""
        return packing.unpacker(self)

    @cached_property
    def encode(self) -> Callable[..., int]:
        """The function that puts fields, given by name, together into an id: ``encode(time=1, shard=2, counter=3)``.

        It takes an integer for every field, ``time`` in ticks since the epoch; the parts of a field may stand for it. It gives
        0 to 2**63 - 1, and raises :class:`InvalidIdError` for a missing, unknown or non-integer field, or one that does not
        fit its width.
        """
        return packing.encoder(self)

    @cached_property
    def decode(self) -> Callable[[int], dict[str, int]]:
        """The function that takes an id apart into its fields by name, ``time`` in ticks since the epoch.

        It takes an int (text goes through :func:`shardflake.ids.parse_id` first), and raises :class:`InvalidIdError` if that
        has more bits than the layout, or is negative.
        """
        return packing.decoder(self)

    def decode_parts(self, value: int) -> dict[str, int]:
        """Take an id apart as :attr:`decode` does, with the fields that have parts replaced by them."""
        self.check(value)
        shifts = packing.shifts(self.leaves)
        return {leaf.name: (value >> shifts[leaf.name]) & (leaf.capacity - 1) for leaf in self.leaves}

    def check(self, value: int) -> None:
        """Refuse a number that is no id of this layout.

        :raises InvalidIdError: if it is no int, negative or has more bits than the layout.
        """
        if not isinstance(value, int) or isinstance(value, bool):
            raise InvalidIdError(f"{shown(value)} is a {type(value).__name__}, not an id: give an int")
        if not 0 <= value <= self.largest:
            raise InvalidIdError(
                f"{shown(value)} is not an id of layout {self.name}: ids have {self.bits} bits, 0 to {self.largest}"
            )


def custom(widths: str, *, epoch_ms: int, now: datetime, tick_ms: int = 1, name: str = "custom") -> Layout:
    """Return a layout of one's own, for ids that sort by time and last.

    :param widths: bits from the most significant field on: ``"41/10/12"`` for time, shard and counter, or with names,
        ``"time:39/counter:8/shard:16"``. The time comes first; the sum is 63 at most.
    :param epoch_ms: where the time field starts, in milliseconds since 1970-01-01 UTC.
    :param now: the present, aware: it must lie in the time field, with a year left at least.
    :param tick_ms: what one unit of the time field lasts, in milliseconds.
    :raises InvalidIdError: if any of that is not so.
    """
    words = [part.rpartition(":") for part in widths.split("/")]
    if not all(bits.isascii() and bits.isdigit() and len(bits) <= 2 for _, _, bits in words):
        raise InvalidIdError(f"{widths!r} is no layout; give a name or widths, such as 41/10/12 or time:39/counter:8/shard:16")
    names = [field for field, _, _ in words]
    if not any(names) and len(words) == 3:
        names = ["time", "shard", "counter"]
    if not all(field.isidentifier() for field in names):
        raise InvalidIdError(
            f"{widths!r} must name its fields, such as time:39/counter:8/shard:16, or be three: time/shard/counter"
        )
    layout = Layout(
        name, tuple(Field(field, int(bits)) for field, (_, _, bits) in zip(names, words, strict=True)), epoch_ms, tick_ms
    )
    if layout.fields[0] is not layout.time:
        raise InvalidIdError(f"{widths!r} has {names[0]} above the time; the time must come first, or ids do not sort by it")
    if now < layout.first_time or layout.years_left(now) < 1:
        raise InvalidIdError(
            f"{widths!r} holds times from {layout.first_time.isoformat()} to {layout.last_time.isoformat()}; "
            f"that must include {now.isoformat()} and leave a year at least"
        )
    return layout


SHARDFLAKE = Layout(
    "shardflake",
    (Field("time", 40), Field("shard", 13), Field("counter", 10)),
    epoch_ms=1_735_689_600_000,
)
"""40 bits of milliseconds since 2025-01-01 UTC, 13 of shard, 10 of counter: ids until late 2059."""

TWITTER = Layout(
    "twitter",
    (Field("time", 41), Field("shard", 10, (Field("datacenter", 5), Field("worker", 5))), Field("counter", 12)),
    epoch_ms=1_288_834_974_657,
)
"""Twitter's snowflake; the shard is datacenter * 32 + worker."""

DISCORD = Layout(
    "discord",
    (Field("time", 41), Field("shard", 10, (Field("worker", 5), Field("process", 5))), Field("counter", 12)),
    epoch_ms=1_420_070_400_000,
)
"""Discord's snowflake, of whose 42 bits of time 41 fit a bigint; the shard is worker * 32 + process."""

SONYFLAKE = Layout(
    "sonyflake", (Field("time", 39), Field("counter", 8), Field("shard", 16)), epoch_ms=1_735_689_600_000, tick_ms=10
)
"""Sonyflake: ticks of 10 ms, the counter above the machine id."""

INSTAGRAM = Layout("instagram", (Field("time", 40), Field("shard", 13), Field("counter", 10)), epoch_ms=1_314_220_021_721)
"""Instagram's, of whose 41 bits of time 40 fit a bigint: ids until 2046."""

JAVASCRIPT = Layout("javascript", (Field("time", 41), Field("shard", 5), Field("counter", 7)), epoch_ms=1_735_689_600_000)
"""53 bits, exact as a JavaScript number: until 2094, 32 shards, 128 ids per millisecond.

41 bits, for with 40 the ids would end in 2059 as those of SHARDFLAKE do, and with 42 a shard's share of the other 11 would be
halved for years that nobody plans for. Of the 12 left, the counter gets more than half: a full millisecond makes the generator
wait for the next one, whereas 32 databases are many for a store whose keys a browser computes with.
"""

PRESETS = {layout.name: layout for layout in (SHARDFLAKE, TWITTER, DISCORD, SONYFLAKE, INSTAGRAM, JAVASCRIPT)}
"""Layouts by name, as ``shardflake.assign_shard()`` takes them."""
