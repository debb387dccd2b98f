"""Encode and decode whole NumPy arrays of ids, with the checks of :class:`shardflake.layout.Layout`. Needs the extra ``numpy``.

Ids and fields are arrays of ``int64`` of one dimension. Work goes in blocks that stay in the processor's cache: the arrays are
read and written once, and memory is what limits the speed.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from shardflake.errors import InvalidIdError
from shardflake.layout import SHARDFLAKE, Layout

Int64s = NDArray[np.int64]

_BLOCK = 16_384
"""Values to a block: 128 KiB an array; four of them fit a cache of the second level."""


def decode(ids: Int64s, layout: Layout = SHARDFLAKE) -> dict[str, Int64s]:
    """Take ids apart into the fields of their layout, ``time`` in ticks since the epoch.

    :param ids: an array of int64.
    :param layout: of the ids.
    :returns: an array for each field.
    :raises InvalidIdError: if it is no such array, or for the first id that the layout cannot have.
    """
    _check_array("ids", ids)
    fields = {field.name: np.empty_like(ids) for field in layout.fields}
    plan = [(fields[field.name], layout.shifts[field.name], field.capacity - 1) for field in layout.fields]
    for start in range(0, len(ids), _BLOCK):
        block = ids[start : start + _BLOCK]
        # One reduction finds both faults: a set bit above the layout's is a number too large, or a negative one's sign.
        if int(np.bitwise_or.reduce(block)) & ~layout.largest:
            layout.check(_first_bad(block, layout.largest))
        for values, shift, mask in plan:
            out = values[start : start + _BLOCK]
            if shift + mask.bit_length() == layout.bits:
                np.right_shift(block, shift, out=out)
            elif shift == 0:
                np.bitwise_and(block, mask, out=out)
            else:
                np.right_shift(block, shift, out=out)
                np.bitwise_and(out, mask, out=out)
    return fields


def encode(values: Mapping[str, Int64s], layout: Layout = SHARDFLAKE) -> Int64s:
    """Put fields together into ids.

    :param values: an array of int64 for each field of the layout, all of one length; ``time`` in ticks since the epoch.
    :param layout: of the ids.
    :returns: the ids.
    :raises InvalidIdError: for a missing or unknown field, another type or length, or the first value that does not fit.
    """
    if values.keys() != layout.shifts.keys():
        raise InvalidIdError(f"layout {layout.name} has the fields {list(layout.names)}, not {list(values)}")
    for name, array in values.items():
        _check_array(name, array)
    if len({len(array) for array in values.values()}) > 1:
        raise InvalidIdError(
            f"fields have lengths { ({name: len(array) for name, array in values.items()}) }: they must be the same"
        )
    ids = np.empty_like(values["time"])
    shifted = np.empty(_BLOCK, dtype=np.int64)
    for start in range(0, len(ids), _BLOCK):
        out = ids[start : start + _BLOCK]
        for number, field in enumerate(layout.fields):
            block, shift = values[field.name][start : start + _BLOCK], layout.shifts[field.name]
            top = field.capacity - 1
            if int(np.bitwise_or.reduce(block)) & ~top:
                raise InvalidIdError(f"{field.name} {_first_bad(block, top)} does not fit: it must be 0 to {top}")
            if number == 0:
                np.left_shift(block, shift, out=out)
            else:
                moved = block if shift == 0 else np.left_shift(block, shift, out=shifted[: len(block)])
                np.bitwise_or(out, moved, out=out)
    return ids


def times(ids: Int64s, layout: Layout = SHARDFLAKE) -> NDArray[np.datetime64]:
    """Return when ids were made, UTC, as ``datetime64[ms]``.

    :raises InvalidIdError: as :func:`decode`.
    """
    return (decode(ids, layout)["time"] * layout.tick_ms + layout.epoch_ms).view("datetime64[ms]")


def _check_array(name: str, array: object) -> None:
    """Refuse what would be cast: floats lose digits, objects are slow, unsigned numbers may be too large."""
    if not isinstance(array, np.ndarray):
        raise InvalidIdError(f"{name} is a {type(array).__name__}; give a NumPy array of int64")
    if array.dtype != np.int64 or array.ndim != 1:
        raise InvalidIdError(f"{name} is an array of {array.dtype} with {array.ndim} dimensions; give int64 with one")


def _first_bad(block: Int64s, top: int) -> int:
    return int(block[(block < 0) | (block > top)][0])
