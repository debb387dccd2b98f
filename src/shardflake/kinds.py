"""The kinds of id that can be told apart and read: the layouts of 64 bits, ULID, UUIDv7 and UUIDv4. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from uuid import UUID

from shardflake import unixtime
from shardflake.errors import InvalidIdError, shown
from shardflake.layout import MAX_ID, PRESETS, Field, Layout
from shardflake.texts import TextForm

DAY_MS = 86_400_000
_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SINCE_2000_MS = 946_684_800_000


@dataclass(frozen=True)
class Kind:
    """How the bits of one kind of id are divided.

    :param name: for messages and the command line.
    :param form: how its ids are written.
    :param fields: from the most to the least significant; the bits above them are zero.
    :param epoch_ms: where the field ``time``, if it has one, starts, in milliseconds since 1970-01-01 UTC.
    :param tick_ms: what one unit of that field lasts, in milliseconds.
    :param since_ms: before this, in milliseconds since 1970, no id of the kind is to be expected.
    :param constants: fields that always have the same value.
    :param layout: the layout that it stands for, if it is one of 64 bits.
    """

    name: str
    form: TextForm
    fields: tuple[Field, ...]
    epoch_ms: int = 0
    tick_ms: int = 1
    since_ms: int = _SINCE_2000_MS
    constants: Mapping[str, int] = field(default_factory=dict)
    layout: Layout | None = None

    @cached_property
    def bits(self) -> int:
        """Width of an id, in bits."""
        return sum(field.bits for field in self.fields)

    @cached_property
    def width(self) -> int:
        """Bits that an id is stored in: 64 or 128."""
        return 64 if self.bits <= 63 else 128

    @cached_property
    def has_time(self) -> bool:
        """Whether one of the fields is a time."""
        return any(field.name == "time" for field in self.fields)

    @cached_property
    def wide(self) -> frozenset[str]:
        """The fields that JavaScript cannot hold as a number: above 53 bits."""
        return frozenset(field.name for field in self.fields if field.bits > 53)

    @cached_property
    def plan(self) -> tuple[tuple[str, int, int], ...]:
        """Name, shift and mask of each field."""
        position, plan = self.bits, []
        for item in self.fields:
            position -= item.bits
            plan.append((item.name, position, item.capacity - 1))
        return tuple(plan)

    @cached_property
    def reads_ms(self) -> Callable[[int], int] | None:
        """The function that :meth:`unix_ms` is, for many ids; None for a kind without time."""
        for name, shift, mask in self.plan:
            if name == "time":
                tick_ms, epoch_ms = self.tick_ms, self.epoch_ms
                return lambda value: (value >> shift & mask) * tick_ms + epoch_ms
        return None

    @cached_property
    def groups(self) -> tuple[tuple[str, int, int], ...]:
        """Name, shift and mask of what several fields form together in the layout, such as ``shard``."""
        layout = self.layout
        if layout is None:
            return ()
        return tuple((item.name, layout.shifts[item.name], item.capacity - 1) for item in layout.fields if item.parts)

    def check(self, value: int) -> None:
        """Refuse a number that is no id of this kind.

        :raises InvalidIdError: if it is negative, too wide, or has another value where the kind has a constant.
        """
        if self.layout is not None:
            self.layout.check(value)
        elif not 0 <= value < 1 << self.bits:
            raise InvalidIdError(f"{shown(value)} is no {self.name}: that has {self.bits} bits")
        for name, shift, mask in self.plan if self.constants else ():
            if name in self.constants and value >> shift & mask != self.constants[name]:
                raise InvalidIdError(
                    f"{value:#x} is no {self.name}: its {name} is {value >> shift & mask}, not {self.constants[name]}"
                )

    def decode(self, value: int) -> dict[str, int]:
        """Take an id apart into the fields, ``time`` in ticks since the epoch.

        :raises InvalidIdError: as :meth:`check`.
        """
        self.check(value)
        return {name: value >> shift & mask for name, shift, mask in self.plan}

    def encode(self, values: Mapping[str, int]) -> int:
        """Put fields together into an id.

        :param values: an int for every field that is no constant; for a layout also for a field that has parts.
        :raises InvalidIdError: for a missing or unknown field, or one that does not fit.
        """
        if self.layout is not None:
            return self.layout.encode(**values)
        wanted = [item.name for item in self.fields if item.name not in self.constants]
        if sorted(wanted) != sorted(values):
            raise InvalidIdError(f"{self.name} has the fields {wanted}, not {list(values)}")
        result = 0
        for item in self.fields:
            value = self.constants.get(item.name, values.get(item.name))
            result = result << item.bits | unixtime.check(item.name, value, item.bits)
        return result

    def unix_ms(self, value: int) -> int | None:
        """Return when an id was made, in milliseconds since 1970; None for a kind without time."""
        return None if self.reads_ms is None else self.reads_ms(value)

    def tick_of(self, time: datetime) -> int:
        """Return the tick that a time falls into.

        :param time: an aware datetime.
        :raises InvalidIdError: if it is naive, outside the time field, or the kind has none.
        """
        if not self.has_time:
            raise InvalidIdError(f"{self.name} holds no time")
        return self.layout.tick_of(time) if self.layout is not None else unixtime.ms_of(time)

    def is_plausible(self, value: int, now_ms: int) -> bool:
        """Tell whether a number may be an id of this kind: it fits, and its time lies between ``since_ms`` and a day ahead."""
        if value >> self.bits or (self.constants and not self.has_constants(value)):
            return False
        made = self.unix_ms(value)
        return made is None or self.since_ms <= made <= now_ms + DAY_MS

    def has_constants(self, value: int) -> bool:
        """Tell whether a number has the kind's value in each field that is a constant."""
        return all(value >> shift & mask == self.constants.get(name, value >> shift & mask) for name, shift, mask in self.plan)

    def time_range(self, start: datetime, end: datetime) -> tuple[int, int]:
        """Return ``(low, high)`` such that ``low <= id < high`` holds for exactly the ids of a half-open time range.

        :raises InvalidIdError: for naive times, times that ids cannot hold, an end before the start, or a kind without time.
        """
        if self.layout is not None:
            return self.layout.time_range(start, end)
        self.tick_of(start)
        low, high = unixtime.half_open(start, end)
        others = {item.name: 0 for item in self.fields if item.name != "time" and item.name not in self.constants}
        return self.encode({"time": low, **others}), self.encode({"time": high, **others})


def of_layout(layout: Layout) -> Kind:
    """Return the kind that a layout is, with the parts of its fields apart."""
    return Kind(
        layout.name, TextForm.DECIMAL, layout.leaves, layout.epoch_ms, layout.tick_ms, since_ms=layout.epoch_ms, layout=layout
    )


ULID = Kind("ulid", TextForm.ULID, (Field("time", 48), Field("random", 80)))
UUIDV7 = Kind(
    "uuidv7",
    TextForm.UUID,
    (Field("time", 48), Field("version", 4), Field("rand_a", 12), Field("variant", 2), Field("rand_b", 62)),
    constants={"version": 7, "variant": 2},
)
UUIDV4 = Kind(
    "uuidv4",
    TextForm.UUID,
    (Field("random_a", 48), Field("version", 4), Field("random_b", 12), Field("variant", 2), Field("random_c", 62)),
    constants={"version": 4, "variant": 2},
)
LAYOUT_KINDS = tuple(of_layout(layout) for layout in PRESETS.values())
KINDS = {kind.name: kind for kind in (*LAYOUT_KINDS, ULID, UUIDV7, UUIDV4)}
"""Kinds by name."""


def candidates(form: TextForm, value: int, now_ms: int) -> list[Kind]:
    """Return the kinds that a number may be of, the likeliest first; at least one.

    Numbers of 63 bits may be of any layout that gives them a plausible time: none says in its bits which one it is. Those of
    128 bits tell their version, if they are UUIDs; a ULID may look like one by chance. The form that the id was written in
    decides which comes first.

    :param form: what the text was.
    :param value: its number.
    :param now_ms: the present, in milliseconds since 1970.
    :raises InvalidIdError: if it can be of no kind: a number of more than 63 bits, or a UUID of a version not read here.
    """
    if form in (TextForm.ULID, TextForm.UUID):
        wide = (ULID, UUIDV7, UUIDV4) if form is TextForm.ULID else (UUIDV7, UUIDV4, ULID)
        found = [kind for kind in wide if kind.is_plausible(value, now_ms)]
        if form is TextForm.UUID and not found:
            return [_version_kind(value)]
        return found if form is TextForm.UUID or ULID in found else [ULID, *found]
    if value > MAX_ID:
        raise InvalidIdError(f"{value} is not an id: ids are 0 to {MAX_ID}")
    starts, found_from = _ranges(now_ms)
    return found_from[bisect_right(starts, value)]


@lru_cache(maxsize=1)
def _ranges(now_ms: int) -> tuple[list[int], list[list[Kind]]]:
    """Return where the candidates change, ascending, and the candidates below the first such number and from each on.

    What :meth:`Kind.is_plausible` says of the layouts, whose time leads; worked out once for many ids.
    """
    windows = []
    for kind in LAYOUT_KINDS:
        _, shift, last = next(field for field in kind.plan if field[0] == "time")
        first_tick = -((kind.epoch_ms - kind.since_ms) // kind.tick_ms)
        end_tick = (now_ms + DAY_MS - kind.epoch_ms) // kind.tick_ms + 1
        windows.append((first_tick << shift, max(0, min(end_tick, last + 1)) << shift, kind))
    starts = sorted({bound for low, high, _ in windows for bound in (low, high)})
    found = [[kind for low, high, kind in windows if low <= start < high] or [LAYOUT_KINDS[0]] for start in starts]
    return starts, [[LAYOUT_KINDS[0]], *found]


def ruled_out(value: int, now_ms: int) -> dict[str, str]:
    """Return the layouts, by name, that a number of 63 bits is not of, and why."""
    reasons = {}
    for kind in LAYOUT_KINDS:
        if value >> kind.bits:
            reasons[kind.name] = f"which has {kind.bits} bits, not {value.bit_length()}"
        elif not kind.is_plausible(value, now_ms):
            made = time_of(kind.unix_ms(value) or 0)
            reasons[kind.name] = f"as which it would be of {made:%Y-%m-%d}"
    return reasons


def _version_kind(value: int) -> Kind:
    """Return the kind of a UUID whose time is not plausible, or refuse its version."""
    if UUIDV7.has_constants(value):
        return UUIDV7
    version, variant = value >> 76 & 15, value >> 62 & 3
    raise InvalidIdError(
        f"{UUID(int=value)} is a UUID of version {version} and variant {variant:02b}: "
        "here versions 4 and 7 of variant 10 are read"
    )


def time_of(unix_ms: int) -> datetime | None:
    """Return a time, UTC; None past the year 9999, which a datetime cannot hold."""
    try:
        return _UNIX_EPOCH + timedelta(milliseconds=unix_ms)
    except OverflowError:
        return None
