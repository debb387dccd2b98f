"""Layouts: widths, order, bounds; every refusal names what was allowed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from enum import IntEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardflake import SHARDFLAKE, Field, InvalidIdError, Layout


def test_shardflake_uses_every_bit_of_a_positive_bigint() -> None:
    assert [(field.name, field.bits) for field in SHARDFLAKE.fields] == [("time", 40), ("shard", 13), ("counter", 10)]
    assert sum(field.bits for field in SHARDFLAKE.fields) == 63
    assert SHARDFLAKE.encode(time=2**40 - 1, shard=8191, counter=1023) == 2**63 - 1
    assert dict(SHARDFLAKE.shifts) == {"time": 23, "shard": 10, "counter": 0}


def test_time_field_reaches_from_2025_to_2059() -> None:
    assert SHARDFLAKE.first_time == datetime(2025, 1, 1, tzinfo=UTC)
    assert SHARDFLAKE.last_time == datetime(2059, 11, 4, 19, 53, 47, 775000, tzinfo=UTC)


@given(st.integers(0, 2**40 - 1), st.integers(0, 8191), st.integers(0, 1023))
def test_decode_is_the_inverse_of_encode(time: int, shard: int, counter: int) -> None:
    value = SHARDFLAKE.encode(time=time, shard=shard, counter=counter)
    assert 0 <= value < 2**63
    assert SHARDFLAKE.decode(value) == {"time": time, "shard": shard, "counter": counter}


@given(st.lists(st.integers(1, 20), min_size=2, max_size=4).filter(lambda widths: sum(widths) <= 63), st.data())
def test_any_order_and_widths_round_trip(widths: list[int], data: st.DataObject) -> None:
    names = data.draw(st.sampled_from([["time", "shard", "counter", "c"], ["time", "a", "b", "c"]]))[: len(widths)]
    order = data.draw(st.permutations(names))
    layout = Layout(
        "custom", tuple(Field(name, bits) for name, bits in zip(order, widths, strict=True)), epoch_ms=0, tick_ms=10
    )
    values = {field.name: data.draw(st.integers(0, field.capacity - 1)) for field in layout.fields}
    value = layout.encode(**values)
    assert layout.decode(value) == values
    assert layout.encode(**dict(reversed(values.items()))) == layout.pack(*values.values()) == value
    assert layout.unpack(value) == tuple(values.values())


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ((Field("time", 41), Field("shard", 13), Field("counter", 10)), "sum to 63"),
        ((Field("time", 40), Field("shard", 0)), "positive"),
        ((Field("shard", 10),), "one of them 'time'"),
        ((Field("time", 10), Field("time", 10)), "different names"),
    ],
)
def test_widths_that_cannot_be_are_refused(fields: tuple[Field, ...], message: str) -> None:
    with pytest.raises(InvalidIdError, match=message):
        Layout("bad", fields, epoch_ms=0)


def test_a_tick_shorter_than_a_millisecond_is_refused() -> None:
    with pytest.raises(InvalidIdError, match="1 ms or longer"):
        Layout("bad", (Field("time", 40),), epoch_ms=0, tick_ms=0)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"time": 2**40, "shard": 0, "counter": 0}, "time 1099511627776 does not fit: it must be 0 to 1099511627775"),
        ({"time": 0, "shard": 8192, "counter": 0}, "shard 8192 does not fit: it must be 0 to 8191"),
        ({"time": 0, "shard": -1, "counter": 0}, "shard -1"),
        ({"time": 0, "shard": 0, "counter": 1024}, "counter 1024 does not fit: it must be 0 to 1023"),
        ({"time": 0, "shard": True, "counter": 0}, "shard True does not fit: it must be 0 to 8191"),
        ({"time": 1.0, "shard": 0, "counter": 0}, "time 1.0 does not fit: it must be 0 to 1099511627775"),
        ({"time": 0, "shard": 0, "counter": None}, "counter None does not fit: it must be 0 to 1023"),
        ({"time": 0, "shard": 0}, r"has the fields \['time', 'shard', 'counter'\], not \['time', 'shard'\]"),
        ({}, r"has the fields \['time', 'shard', 'counter'\], not \[\]"),
        ({"time": 0, "shard": 0, "counter": 0, "node": 0}, r"not \['time', 'shard', 'counter', 'node'\]"),
        ({"time": 0, "node": 0, "counter": 0}, r"not \['time', 'counter', 'node'\]"),
    ],
)
def test_fields_that_do_not_fit_are_refused_and_never_spill(values: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidIdError, match=message):
        SHARDFLAKE.encode(**values)


def test_numbers_of_a_subclass_of_int_are_taken() -> None:
    class Shard(IntEnum):
        BERLIN = 5

    assert SHARDFLAKE.encode(time=1, shard=Shard.BERLIN, counter=0) == SHARDFLAKE.pack(1, 5, 0)
    assert SHARDFLAKE.decode(Shard.BERLIN) == {"time": 0, "shard": 0, "counter": 5}


@pytest.mark.parametrize(
    ("time", "tick"),
    [
        (datetime(2025, 1, 1, tzinfo=UTC), 0),
        (datetime(2025, 1, 1, 0, 0, 0, 999, tzinfo=UTC), 0),
        (datetime(2025, 1, 1, 0, 0, 0, 1000, tzinfo=UTC), 1),
        (datetime(2025, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), 0),
        (SHARDFLAKE.last_time + timedelta(microseconds=999), 2**40 - 1),
    ],
)
def test_times_floor_to_their_tick(time: datetime, tick: int) -> None:
    assert SHARDFLAKE.tick_of(time) == tick


@pytest.mark.parametrize(
    ("time", "message"),
    [
        (datetime(2026, 1, 1), "no time zone"),
        (datetime(2024, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), "it holds 2025-01-01T00:00:00"),
        (SHARDFLAKE.last_time + timedelta(milliseconds=1), "to 2059-11-04T19:53:47.775000"),
    ],
)
def test_times_that_ids_cannot_hold_are_refused(time: datetime, message: str) -> None:
    with pytest.raises(InvalidIdError, match=message):
        SHARDFLAKE.tick_of(time)
