"""Codecs under random input: round trips, and no other error than ours; custom layouts; monotonic ULIDs; odds."""

from __future__ import annotations

import contextlib
import multiprocessing
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardflake import PRESETS, InvalidIdError, Layout, parse_id, ulid, unixtime, uuids
from shardflake.errors import ExhaustedError
from shardflake.kinds import KINDS, Kind, candidates
from shardflake.layout import Field, custom
from shardflake.odds import RANDOM_KINDS, YEAR_SECONDS, expected_collisions, in_words, probability
from shardflake.texts import TextForm, parse, render

NOW = datetime(2026, 7, 6, 8, 30, tzinfo=UTC)
NOW_MS = 1_783_326_600_000
LAYOUTS = st.sampled_from(list(PRESETS.values()))
LOOKALIKES = st.text(alphabet="0123456789abcdefABCDEFGHJKMNPQRSTVWXYZilou-x{}٣²\x00 ", max_size=40)
TEXTS = st.one_of(
    st.text(), LOOKALIKES, st.from_regex(r"[0-9A-Z]{26}", fullmatch=True), st.uuids().map(str), st.integers().map(str)
)
ANYTHING = st.one_of(
    TEXTS, st.integers(), st.floats(), st.booleans(), st.none(), st.binary(), st.just(10**5000), st.just(-(10**5000))
)


@given(LAYOUTS, st.data())
def test_layouts_round_trip(layout: Layout, data: st.DataObject) -> None:
    value = data.draw(st.integers(0, layout.largest))
    assert layout.pack(*layout.unpack(value)) == value
    assert layout.encode(**layout.decode(value)) == value
    assert layout.encode(**layout.decode_parts(value)) == value
    time = layout.time_of_tick(layout.decode(value)["time"])
    assert layout.min_id(time) <= value <= layout.max_id(time)


@given(st.integers(0, 2**128 - 1))
def test_texts_of_128_bits_round_trip_and_sort(value: int) -> None:
    for form in (TextForm.DECIMAL, TextForm.HEX, TextForm.ULID, TextForm.UUID):
        assert parse(render(value, form), form) == (form, value)
    assert (render(value, TextForm.ULID) < render(2**127, TextForm.ULID)) == (value < 2**127)
    assert ulid.parse(ulid.make(*(ulid.parts_of(value).unix_ms, ulid.parts_of(value).random))) == value


@given(st.integers(0, 2**48 - 1), st.integers(0, 2**12 - 1), st.integers(0, 2**62 - 1))
def test_uuids_round_trip_and_are_what_python_takes_for_version_7(unix_ms: int, rand_a: int, rand_b: int) -> None:
    made = uuids.make_v7(unix_ms, rand_a, rand_b)
    assert (made.version, made.variant) == (7, "specified in RFC 4122")
    assert uuids.decode_v7(made) == uuids.Uuid7Parts(unix_ms, rand_a, rand_b)


@given(ANYTHING)
def test_parsers_raise_nothing_but_our_errors(value: object) -> None:
    readers: list[Callable[[Any], object]] = [parse_id, ulid.parse, uuids.parse, uuids.decode_v7]
    for read in readers:
        with contextlib.suppress(InvalidIdError):
            read(value)
    for layout in PRESETS.values():
        for unpack in (layout.unpack, layout.decode, layout.decode_parts):
            with contextlib.suppress(InvalidIdError):
                unpack(value)  # type: ignore[arg-type]
        with contextlib.suppress(InvalidIdError):
            layout.pack(value, value, value)
    if isinstance(value, int):
        with contextlib.suppress(InvalidIdError):
            ulid.render(value)
        with contextlib.suppress(InvalidIdError):
            uuids.make_v7(value, value, value)


@given(TEXTS, st.sampled_from([None, *TextForm]))
def test_texts_are_read_or_refused_by_our_error(text: str, form: TextForm | None) -> None:
    with contextlib.suppress(InvalidIdError):
        found, value = parse(text, form)
        assert 0 <= value < 2**128
        for kind in candidates(found, value, NOW_MS):
            kind.decode(value)


def test_the_fuzz_would_see_another_error() -> None:
    with pytest.raises(ValueError, match="limit"), contextlib.suppress(InvalidIdError):
        str(10**5000)


@given(st.text(alphabet="0123456789/:timeshardcounter-", max_size=30), st.integers(-(2**70), 2**70), st.integers(-5, 2**70))
def test_custom_layouts_are_made_or_refused_by_our_error(widths: str, epoch_ms: int, tick_ms: int) -> None:
    with contextlib.suppress(InvalidIdError):
        custom(widths, epoch_ms=epoch_ms, tick_ms=tick_ms, now=NOW)


def test_custom_layouts() -> None:
    epoch = 1_735_689_600_000
    layout = custom("41/10/12", epoch_ms=epoch, now=NOW)
    assert [(field.name, field.bits) for field in layout.fields] == [("time", 41), ("shard", 10), ("counter", 12)]
    assert custom("time:39/counter:8/shard:16", epoch_ms=epoch, tick_ms=10, now=NOW).names == ("time", "counter", "shard")
    assert custom("time:41/worker:22", epoch_ms=epoch, now=NOW).unpack(5) == (0, 5)
    assert custom("time:41/worker:22", epoch_ms=epoch, now=NOW).pack(3, 5) == 3 << 22 | 5


@pytest.mark.parametrize(
    ("widths", "epoch_ms", "tick_ms", "rule"),
    [
        ("42/10/12", 1_735_689_600_000, 1, "sum to 63 at most"),
        ("41/0/12", 1_735_689_600_000, 1, "positive"),
        ("shard:10/time:41", 1_735_689_600_000, 1, "the time must come first"),
        ("41/10", 1_735_689_600_000, 1, "must name its fields"),
        ("41/ten/12", 1_735_689_600_000, 1, "is no layout"),
        ("time:41/time:10", 1_735_689_600_000, 1, "different names"),
        ("41/10/12", 1_735_689_600_000, 0, "1 ms or longer"),
        ("30/10/12", 1_735_689_600_000, 1, "leave a year at least"),
        ("36/10/12", NOW_MS - 2**36 + 86_400_000, 1, "leave a year at least"),
        ("41/10/12", NOW_MS + 1000, 1, "must include 2026-07-06T08:30:00"),
        ("61/1/1", 1_735_689_600_000, 1, "within the years 1 to 9999"),
        ("41/10/12", 10**17, 1, "within the years 1 to 9999"),
    ],
)
def test_custom_layouts_that_cannot_be_are_refused(widths: str, epoch_ms: int, tick_ms: int, rule: str) -> None:
    with pytest.raises(InvalidIdError, match=rule):
        custom(widths, epoch_ms=epoch_ms, tick_ms=tick_ms, now=NOW)


def test_parts_must_sum_to_their_field() -> None:
    with pytest.raises(InvalidIdError, match=r"parts 4 \+ 5 of shard must sum to its 10 bits"):
        Layout("bad", (Field("time", 41), Field("shard", 10, (Field("a", 4), Field("b", 5)))), epoch_ms=0)


@pytest.mark.parametrize("layout", PRESETS.values(), ids=lambda layout: layout.name)
def test_numbers_outside_a_layout_are_refused(layout: Layout) -> None:
    for value in (-1, layout.largest + 1):
        for read in (layout.unpack, layout.decode, layout.decode_parts):
            with pytest.raises(
                InvalidIdError, match=rf"{value} is not an id of layout {layout.name}: ids have {layout.bits} bits"
            ):
                read(value)
    for field in layout.fields:
        values = dict.fromkeys(layout.names, 0) | {field.name: field.capacity}
        with pytest.raises(InvalidIdError, match=f"{field.name} {field.capacity} does not fit"):
            layout.pack(*values.values())


def test_only_a_layout_led_by_time_has_time_ranges() -> None:
    layout = Layout("other", (Field("shard", 10), Field("time", 41)), epoch_ms=0)
    with pytest.raises(InvalidIdError, match="shard above the time"):
        layout.min_id(NOW)


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind.has_time], ids=lambda kind: kind.name)
def test_time_ranges_hold_their_ids_and_no_others(kind: Kind) -> None:
    start, end = NOW, NOW + timedelta(seconds=1)
    low, high = kind.time_range(start, end)
    first, last = (
        kind.encode(
            {field.name: 0 for field in kind.fields if field.name not in kind.constants} | {"time": kind.tick_of(start)}
        ),
        kind.encode(
            {field.name: field.capacity - 1 for field in kind.fields if field.name not in kind.constants}
            | {"time": kind.tick_of(end) - 1}
        ),
    )
    assert low == first <= last < high
    with pytest.raises(InvalidIdError, match="before it starts"):
        kind.time_range(end, start)


def test_times_of_128_bits() -> None:
    with pytest.raises(InvalidIdError, match="no time zone"):
        ulid.time_range(datetime(2026, 1, 1), NOW)
    with pytest.raises(InvalidIdError, match="1970-01-01"):
        uuids.time_range_v7(datetime(1969, 12, 31, tzinfo=UTC), NOW)
    with pytest.raises(InvalidIdError, match="9999"):
        ulid.decode("7ZZZZZZZZZZZZZZZZZZZZZZZZZ").time  # noqa: B018
    assert unixtime.time_of(unixtime.ms_of(NOW + timedelta(microseconds=999))) == NOW
    assert uuids.decode_v7("017F22E2-79B0-7CC3-98C4-DC0C0C07398F").time == datetime(2022, 2, 22, 19, 22, 22, tzinfo=UTC)


def test_ulids_increase_within_a_millisecond_and_after_the_clock_is_set_back() -> None:
    clock = iter([1000, 1000, 1000, 400, 1001])
    generate = ulid.UlidGenerator(lambda: next(clock))
    made = [ulid.decode(generate()) for _ in range(5)]
    assert [parts.unix_ms for parts in made] == [1000, 1000, 1000, 1000, 1001]
    assert [parts.random - made[0].random for parts in made[:4]] == [0, 1, 2, 3]
    assert sorted(made) == made


def test_an_exhausted_millisecond_is_refused_and_the_next_one_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.randbits", lambda bits: (1 << bits) - 2)
    clock = iter([7, 7, 7, 8])
    generate = ulid.UlidGenerator(lambda: next(clock))
    assert [generate()[-1], generate()[-1]] == ["Y", "Z"]
    with pytest.raises(ExhaustedError, match="millisecond 7"):
        generate()
    assert ulid.decode(generate()).unix_ms == 8


def test_threads_share_a_generator() -> None:
    generate, made = ulid.UlidGenerator(), []
    threads = [threading.Thread(target=lambda: made.extend([generate() for _ in range(2000)])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 8000


def test_a_forked_process_does_not_count_on_from_the_same_bits() -> None:
    generate = ulid.UlidGenerator(lambda: 1000)
    generate()
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(generate()))
    child.start()
    theirs, ours = receiver.recv(), generate()
    child.join()
    assert theirs != ours


@pytest.mark.parametrize(
    ("name", "one_in"),
    # By another way than the module: the number of pairs of ids that may meet, each equal with probability 2^-bits.
    [
        ("uuidv4", 2**122 / (31_557_600_000_000 * (31_557_600_000_000 - 1) / 2)),
        ("ulid", 2**80 / (1000 * 1000 / 2 * 31_557_600_000)),
        ("uuidv7", 2**74 / (1000 * 1000 / 2 * 31_557_600_000)),
    ],
)
def test_the_odds_of_a_year_at_a_million_a_second(name: str, one_in: float) -> None:
    kind = next(kind for kind in RANDOM_KINDS if kind.name == name)
    assert 1 / probability(expected_collisions(kind, 10**6, YEAR_SECONDS)) == pytest.approx(one_in, rel=1e-6)
    assert {"uuidv4": 1.07e10, "ulid": 77e6, "uuidv7": 1.2e6}[name] == pytest.approx(one_in, rel=0.01)


def test_odds_agree_with_chance() -> None:
    """Draw ids of few bits many times: what the formula says happens."""
    import random

    from shardflake.odds import RandomKind

    kind, chooser, rounds = RandomKind("tiny", 20, None, ""), random.Random(1), 2000
    collided = sum(len({chooser.getrandbits(20) for _ in range(1000)}) < 1000 for _ in range(rounds))
    assert collided / rounds == pytest.approx(probability(expected_collisions(kind, 1000, 1)), abs=0.03)


def test_odds_in_words() -> None:
    words = [in_words(chance) for chance in (1.0, 0.5, 1 / 1234, 1e-6, 9.37e-11, 1e-20)]
    assert words == ["certain", "1 in 2", "1 in 1.23 thousand", "1 in 1 million", "1 in 10.7 billion", "1 in 1.0e+20"]
    with pytest.raises(InvalidIdError, match="must be 1 to 1000000000000000000"):
        expected_collisions(RANDOM_KINDS[0], 0, 1)


def test_uuid_objects_are_taken_too() -> None:
    assert uuids.decode_v7(UUID("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")).rand_a == 0xCC3
