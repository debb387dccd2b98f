"""Keys made beforehand from a seed, as arrays, and how far they are from ascending. Needs numpy, the extra ``bench``.

A key is an int64, or a row of bytes: 16 for a uuid, the characters for a text. Making them beforehand takes the generator's
cost, the machine and the day out of what an index workload measures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardflake import crockford
from shardflake.layout import SHARDFLAKE

Keys = NDArray[Any]
_START_MS = 50_000_000_000
"""Where the clock of pre-generated keys starts, in milliseconds since the layouts' epoch: a year and a half in."""

_CROCKFORD = np.frombuffer(crockford.ALPHABET.encode(), dtype=np.uint8)
_HEX = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)


@dataclass(frozen=True, slots=True)
class Stream:
    """What keys are made for.

    :param random: the only source of chance.
    :param count: how many keys.
    :param per_ms: keys drawn in a millisecond, on average; arrivals are random.
    :param sessions: sessions that draw them, where that matters.
    """

    random: np.random.Generator
    count: int
    per_ms: float = 256
    sessions: int = 8

    def microseconds(self) -> NDArray[np.int64]:
        """Return ascending times since the layouts' epoch, one for each key."""
        gaps = self.random.exponential(1000 / self.per_ms, self.count)
        return (_START_MS * 1000 + np.cumsum(gaps)).astype(np.int64)


def ascending(stream: Stream) -> Keys:
    """Return 1, 2, 3, …"""
    return np.arange(1, stream.count + 1, dtype=np.int64)


def leased(block: int) -> Callable[[Stream], Keys]:
    """Return a maker for keys that sessions take from blocks of consecutive numbers, each session in its own time.

    :param block: keys in a block; 1 gives plain ascending keys.
    """

    def make(stream: Stream) -> Keys:
        session = stream.random.integers(stream.sessions, size=stream.count)
        keys = np.empty(stream.count, dtype=np.int64)
        place = np.empty(stream.count, dtype=np.int64)  # how many keys the session drew before
        for number in range(stream.sessions):
            mine = session == number
            place[mine] = np.arange(np.count_nonzero(mine))
        opening = np.flatnonzero(place % block == 0)  # the draws that lease a block, in the order of time
        order = np.zeros(stream.count, dtype=np.int64)
        order[opening] = np.arange(len(opening))
        for number in range(stream.sessions):
            mine = np.flatnonzero(session == number)
            opened = order[mine[::block]]
            keys[mine] = np.repeat(opened, block)[: len(mine)] * block + place[mine] % block + 1
        return keys

    return make


def layout(*, counter_bits: int, node_bits: int, tick_ms: int = 1, node_last: bool = False) -> Callable[[Stream], Keys]:
    """Return a maker for time, node and counter in one bigint, drawn in order: the counter starts anew in each tick.

    :param node_last: node below the counter, as Sonyflake has it.
    """

    def make(stream: Stream) -> Keys:
        ticks = stream.microseconds() // (1000 * tick_ms)
        ticks = _spread(ticks, 1 << counter_bits)
        starts = np.flatnonzero(np.r_[True, np.diff(ticks) != 0])
        counter = np.arange(len(ticks)) - np.repeat(starts, np.diff(np.r_[starts, len(ticks)]))
        low = (counter << node_bits) | 5 if node_last else (5 << counter_bits) | counter
        keys: Keys = (ticks << (counter_bits + node_bits)) | low
        return keys

    return make


def instagram(stream: Stream) -> Keys:
    """Return keys of Instagram's scheme: the counter goes on through the milliseconds and wraps within them."""
    made: Keys = ((stream.microseconds() // 1000) << 23) | (5 << 10) | (np.arange(stream.count) % 1024)
    return made


def uuidv4(stream: Stream) -> Keys:
    """Return random UUIDs."""
    return _versioned(stream.random.integers(256, size=(stream.count, 16), dtype=np.uint8), 4)


def uuidv7(stream: Stream) -> Keys:
    """Return UUIDs of milliseconds, 12 bits below them, and chance: what PostgreSQL 18 makes in one session."""
    keys = uuidv7_ms(stream)
    rest = _times(stream, keys)
    keys[:, 6] = 0x70 | (rest >> 8)
    keys[:, 7] = rest & 255
    return keys


def uuidv7_ms(stream: Stream) -> Keys:
    """Return UUIDs of milliseconds and chance."""
    keys = stream.random.integers(256, size=(stream.count, 16), dtype=np.uint8)
    _times(stream, keys)
    return _versioned(keys, 7)


def ulid(stream: Stream) -> Keys:
    """Return the 16 bytes of ULIDs: milliseconds and chance."""
    keys = stream.random.integers(256, size=(stream.count, 16), dtype=np.uint8)
    _times(stream, keys)
    return keys


def ulid_text(stream: Stream) -> Keys:
    """Return ULIDs as 26 characters."""
    bits = np.unpackbits(ulid(stream), axis=1)
    padded = np.concatenate([np.zeros((stream.count, 2), dtype=np.uint8), bits], axis=1).reshape(stream.count, 26, 5)
    text: Keys = _CROCKFORD[padded @ np.array([16, 8, 4, 2, 1], dtype=np.uint8)]
    return text


def uuid_text(stream: Stream) -> Keys:
    """Return random UUIDs as 36 characters."""
    raw = uuidv4(stream)
    digits = np.empty((stream.count, 32), dtype=np.uint8)
    digits[:, 0::2], digits[:, 1::2] = _HEX[raw >> 4], _HEX[raw & 15]
    text = np.full((stream.count, 36), ord("-"), dtype=np.uint8)
    text[:, [place for place in range(36) if place not in (8, 13, 18, 23)]] = digits
    return text


def jittered(stream: Stream, window: float) -> NDArray[np.int64]:
    """Return a permutation of 1 … count in which each key comes up to ``window`` places late, evenly spread.

    :param window: in keys; 0 gives ascending keys, infinity random ones.
    """
    if np.isinf(window):
        return stream.random.permutation(stream.count).astype(np.int64) + 1
    arrival = np.arange(stream.count) + stream.random.uniform(0, window or 1e-9, stream.count)
    return np.argsort(arrival, kind="stable").astype(np.int64) + 1


def as_uuid(numbers: NDArray[np.int64]) -> Keys:
    """Return 16-byte keys in the same order as the numbers."""
    keys = np.zeros((len(numbers), 16), dtype=np.uint8)
    keys[:, :8] = numbers.astype(">i8").view(np.uint8).reshape(-1, 8)
    return keys


def ranks(keys: Keys) -> NDArray[np.int64]:
    """Return each key's place in key order, from 0; equal keys in the order of arrival."""
    order = np.argsort(_sortable(keys), kind="stable")
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return places


def descents(keys: Keys) -> int:
    """Return how many keys are smaller than the one drawn just before."""
    return int(np.count_nonzero(np.diff(ranks(keys)) < 0))


def behind(keys: Keys) -> NDArray[np.int64]:
    """Return how far each key lands behind the newest, in keys, counting those that are to come between."""
    place = ranks(keys)
    lag: NDArray[np.int64] = np.maximum.accumulate(place) - place
    return lag


def distance(keys: Keys) -> int:
    """Return the disorder distance D: what 99 of 100 keys do not exceed of :func:`behind`."""
    return int(np.quantile(behind(keys), 0.99, method="higher"))


def _sortable(keys: Keys) -> Keys:
    return keys if keys.ndim == 1 else np.ascontiguousarray(keys).view(f"S{keys.shape[1]}").ravel()


def _spread(ticks: NDArray[np.int64], room: int) -> NDArray[np.int64]:
    """Return ticks moved on so that none has more than ``room`` keys: each is past that of the key ``room`` places before."""
    rows = -(-len(ticks) // room)
    table = np.full(rows * room, ticks[-1], dtype=np.int64)
    table[: len(ticks)] = ticks
    row = np.arange(rows)[:, None]
    moved: NDArray[np.int64] = (np.maximum.accumulate(table.reshape(rows, room) - row, axis=0) + row).ravel()
    return moved[: len(ticks)]


def _times(stream: Stream, keys: Keys) -> NDArray[np.int64]:
    """Write milliseconds since 1970 into the first 48 bits; return the rest of the time, 12 bits."""
    times = stream.microseconds()
    milliseconds = SHARDFLAKE.epoch_ms + times // 1000
    keys[:, :6] = milliseconds.astype(">i8").view(np.uint8).reshape(-1, 8)[:, 2:]
    rest: NDArray[np.int64] = times % 1000 * 4096 // 1000
    return rest


def _versioned(keys: Keys, version: int) -> Keys:
    keys[:, 6] = (keys[:, 6] & 0x0F) | (version << 4)
    keys[:, 8] = (keys[:, 8] & 0x3F) | 0x80
    return keys
