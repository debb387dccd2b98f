"""A million random values of each kind, taken apart and put together again, one by one."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from shardflake import PRESETS, Field, Layout, ulid, uuids

MILLION = 1_000_000


def numbers(bits: int, count: int = MILLION) -> Iterator[int]:
    """Give the smallest and the largest number of so many bits, and random ones."""
    chooser = random.Random(bits)
    yield from (0, (1 << bits) - 1)
    for _ in range(count - 2):
        yield chooser.getrandbits(bits)


def first_that_differs(layout: Layout, count: int = MILLION) -> int | None:
    """Return the first number that a layout's functions do not give back."""
    decode, encode, unpack, pack = layout.decode, layout.encode, layout.unpack, layout.pack
    for value in numbers(layout.bits, count):
        fields = decode(value)
        if encode(**fields) != value or pack(*unpack(value)) != value or tuple(fields.values()) != unpack(value):
            return value
    return None


@pytest.mark.parametrize("layout", PRESETS.values(), ids=lambda layout: layout.name)
def test_layouts(layout: Layout) -> None:
    assert first_that_differs(layout) is None


def test_a_wrong_shift_would_be_found() -> None:
    layout = Layout("wrong", (Field("time", 40), Field("shard", 13), Field("counter", 10)), 0)
    layout.__dict__["pack"] = lambda time, shard, counter: time << 22 | shard << 10 | counter
    assert first_that_differs(layout, 100) is not None


def test_ulids() -> None:
    for value in numbers(128):
        text = ulid.render(value)
        assert ulid.parse(text) == value


def test_uuids_of_version_7() -> None:
    for value in numbers(122):
        unix_ms, rand_a, rand_b = value >> 74, value >> 62 & 0xFFF, value & (1 << 62) - 1
        assert uuids.decode_v7(uuids.make_v7(unix_ms, rand_a, rand_b)) == uuids.Uuid7Parts(unix_ms, rand_a, rand_b)
