"""Reading, making and bounding ids."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardflake import DecodedId, InvalidIdError, decode, make_id, max_id, min_id, parse_id, time_range
from shardflake.layout import MAX_ID

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.mark.parametrize(("given_value", "number"), [(0, 0), (MAX_ID, MAX_ID), ("0", 0), (str(MAX_ID), MAX_ID)])
def test_ids_are_accepted_as_numbers_and_digits(given_value: object, number: int) -> None:
    assert parse_id(given_value) == number


@pytest.mark.parametrize(
    "value",
    [
        -1,
        MAX_ID + 1,
        "-1",
        str(MAX_ID + 1),
        "9" * 5000,
        "",
        " 1",
        "1 ",
        "+1",
        "01",
        "1_000",
        "0x10",
        "1.0",
        "\uff11\uff12",
        1.0,
        True,
        None,
        b"1",
    ],
)
def test_everything_else_is_refused(value: Any) -> None:
    with pytest.raises(InvalidIdError):
        parse_id(value)


@given(st.text())
def test_no_text_raises_anything_but_our_error(text: str) -> None:
    with suppress(InvalidIdError):
        assert str(parse_id(text)) == text


@given(st.integers(0, MAX_ID))
def test_make_id_is_the_inverse_of_decode(value: int) -> None:
    parts = decode(value)
    assert make_id(parts.time, parts.shard, parts.counter) == value


def test_an_id_known_from_its_parts() -> None:
    value = (2 << 23) | (5 << 10) | 7
    assert decode(value) == DecodedId(datetime(2025, 1, 1, 0, 0, 0, 2000, tzinfo=UTC), 5, 7)


@given(st.integers(0, 2**40 - 1), st.integers(0, 8191), st.integers(0, 1023))
def test_bounds_hold_every_id_of_their_millisecond_and_no_other(tick: int, shard: int, counter: int) -> None:
    time = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(milliseconds=tick)
    value = make_id(time, shard, counter)
    assert min_id(time) <= value <= max_id(time)
    assert max_id(time) - min_id(time) == 2**23 - 1
    assert min_id(time) >> 23 == max_id(time) >> 23 == tick


def test_a_time_range_is_half_open() -> None:
    low, high = time_range(NOON, NOON + timedelta(milliseconds=2))
    inside = [make_id(NOON + timedelta(milliseconds=ms), 1, 1) for ms in (-1, 0, 1, 2)]
    assert [low <= value < high for value in inside] == [False, True, True, False]
    assert time_range(NOON, NOON) == (low, low)


def test_a_range_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(InvalidIdError, match="before it starts"):
        time_range(NOON, NOON - timedelta(seconds=1))
