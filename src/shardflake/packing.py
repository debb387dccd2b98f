"""Functions that put fields together into ids and take ids apart, made once for each layout. Pure.

Each knows its layout's shifts and masks, and checks what it is given in one expression that allows plain ints only. Whatever
does not pass goes the slow way, which also takes subclasses of int, and says what is wrong with the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from shardflake.errors import InvalidIdError, shown

if TYPE_CHECKING:
    from shardflake.layout import Field, Layout

_MISSING: Any = object()


def shifts(fields: tuple[Field, ...]) -> dict[str, int]:
    """Return how far each field is shifted left, in bits."""
    found, position = {}, 0
    for field in reversed(fields):
        found[field.name] = position
        position += field.bits
    return found


def packer(layout: Layout) -> Callable[..., int]:
    """Return :attr:`shardflake.layout.Layout.pack` of a layout."""
    if len(layout.fields) != 3:
        return lambda *values: _combine(layout.fields, dict(zip(layout.names, values, strict=True)))
    high_shift, middle_shift, _ = (layout.shifts[name] for name in layout.names)
    high_top, middle_top, low_top = (field.capacity - 1 for field in layout.fields)

    def pack(high: int, middle: int, low: int) -> int:
        if (
            type(high) is type(middle) is type(low) is int
            and 0 <= high <= high_top
            and 0 <= middle <= middle_top
            and 0 <= low <= low_top
        ):
            return high << high_shift | middle << middle_shift | low
        return _combine(layout.fields, dict(zip(layout.names, (high, middle, low), strict=True)))

    return pack


def unpacker(layout: Layout) -> Callable[[int], tuple[int, ...]]:
    """Return :attr:`shardflake.layout.Layout.unpack` of a layout."""
    if len(layout.fields) != 3:
        return lambda value: _divide(layout, value)
    high_shift, middle_shift, _ = (layout.shifts[name] for name in layout.names)
    _, middle_mask, low_mask = (field.capacity - 1 for field in layout.fields)
    largest = layout.largest

    def unpack(value: int) -> tuple[int, ...]:
        if type(value) is int and 0 <= value <= largest:
            return value >> high_shift, value >> middle_shift & middle_mask, value & low_mask
        return _divide(layout, value)

    return unpack


def encoder(layout: Layout) -> Callable[..., int]:
    """Return :attr:`shardflake.layout.Layout.encode` of a layout."""
    if set(layout.names) != {"time", "shard", "counter"}:
        return lambda **values: _combine_by_name(layout, values)
    time_shift, shard_shift, counter_shift = (layout.shifts[name] for name in ("time", "shard", "counter"))
    tops = {field.name: field.capacity - 1 for field in layout.fields}
    time_top, shard_top, counter_top = tops["time"], tops["shard"], tops["counter"]

    # Named arguments, for a dictionary of them would take longer to make and to read than all the rest.
    def encode(*, time: int = _MISSING, shard: int = _MISSING, counter: int = _MISSING, **others: int) -> int:
        if (
            type(time) is type(shard) is type(counter) is int
            and 0 <= time <= time_top
            and 0 <= shard <= shard_top
            and 0 <= counter <= counter_top
            and not others
        ):
            return time << time_shift | shard << shard_shift | counter << counter_shift
        given = {"time": time, "shard": shard, "counter": counter, **others}
        return _combine_by_name(layout, {name: value for name, value in given.items() if value is not _MISSING})

    return encode


def decoder(layout: Layout) -> Callable[[int], dict[str, int]]:
    """Return :attr:`shardflake.layout.Layout.decode` of a layout."""
    if len(layout.fields) != 3:
        return lambda value: dict(zip(layout.names, _divide(layout, value), strict=True))
    high, middle, low = layout.names
    high_shift, middle_shift, _ = (layout.shifts[name] for name in layout.names)
    _, middle_mask, low_mask = (field.capacity - 1 for field in layout.fields)
    largest = layout.largest

    def decode(value: int) -> dict[str, int]:
        if type(value) is int and 0 <= value <= largest:
            return {high: value >> high_shift, middle: value >> middle_shift & middle_mask, low: value & low_mask}
        return dict(zip(layout.names, _divide(layout, value), strict=True))

    return decode


def _divide(layout: Layout, value: int) -> tuple[int, ...]:
    layout.check(value)
    return tuple((value >> layout.shifts[field.name]) & (field.capacity - 1) for field in layout.fields)


def _combine_by_name(layout: Layout, values: dict[str, int]) -> int:
    for field in layout.fields:
        if field.parts and field.name not in values and all(part.name in values for part in field.parts):
            values[field.name] = _combine(field.parts, {part.name: values.pop(part.name) for part in field.parts})
    if values.keys() != layout.shifts.keys():
        raise InvalidIdError(f"layout {layout.name} has the fields {list(layout.names)}, not {list(values)}")
    return _combine(layout.fields, values)


def _combine(fields: tuple[Field, ...], values: Mapping[str, int]) -> int:
    result = 0
    for field in fields:
        value = values[field.name]
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < field.capacity:
            raise InvalidIdError(f"{field.name} {shown(value)} does not fit: it must be 0 to {field.capacity - 1}")
        result = result << field.bits | value
    return result
