"""Short public forms: fixed texts, order, strictness, and the permutation."""

from __future__ import annotations

import hashlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardflake.errors import InvalidIdError
from shardflake.layout import MAX_ID
from shardflake.short import Permutation, PublicIds, decode_base32, encode_base32

IDS = st.integers(0, MAX_ID)
KEY = bytes(range(16))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0000000000000"),
        (31, "000000000000Z"),
        (32, "0000000000010"),
        (399608120327803946, "0B2XHEZER051A"),
        (MAX_ID, "7ZZZZZZZZZZZZ"),
    ],
)
def test_base32_of_known_numbers(number: int, text: str) -> None:
    assert encode_base32(number) == text
    assert decode_base32(text) == number


@given(IDS, IDS)
def test_base32_sorts_as_the_numbers_do(one: int, other: int) -> None:
    assert (encode_base32(one) < encode_base32(other)) == (one < other)
    assert decode_base32(encode_base32(one)) == one


def test_base32_is_pythons_own_with_other_digits() -> None:
    numbers, digits = random.Random(5), str.maketrans("ABCDEFGHJKMNPQRSTVWXYZ", "abcdefghijklmnopqrstuv")
    for number in (numbers.getrandbits(63) for _ in range(10_000)):
        assert int(encode_base32(number).translate(digits), 32) == number == decode_base32(encode_base32(number))


BAD_LENGTHS = ["", "0", "000000000000", "00000000000000"]
TOO_LARGE = ["8000000000000", "ZZZZZZZZZZZZZ"]
BAD_CHARACTERS = ["0" * 12 + character for character in "iLOUa -\n"] + ["\u0660" * 13]


@pytest.mark.parametrize("text", BAD_LENGTHS + TOO_LARGE + BAD_CHARACTERS)
def test_base32_refuses(text: str) -> None:
    with pytest.raises(InvalidIdError):
        decode_base32(text)


def test_base32_refuses_what_is_no_text() -> None:
    with pytest.raises(InvalidIdError):
        decode_base32(5)  # type: ignore[arg-type]
    with pytest.raises(InvalidIdError):
        encode_base32(-1)


@pytest.mark.parametrize(
    ("number", "hidden"),
    [
        (0, 8214499660878721557),
        (1, 3583340048053997087),
        (2, 1581393718265875245),
        (399608120327803946, 6622831381696582674),
        (MAX_ID, 8671424996165789923),
    ],
)
def test_the_permutation_never_changes(number: int, hidden: int) -> None:
    assert Permutation(KEY).hide(number) == hidden == reference(number, KEY)
    assert Permutation(KEY).reveal(hidden) == number


def reference(number: int, key: bytes) -> int:
    """The permutation as its definition reads, on bits written out."""
    while True:
        left, right = f"{number:064b}"[:32], f"{number:064b}"[32:]
        for turn in range(10):
            half = int(right, 2).to_bytes(4, "big")
            mixed = hashlib.blake2b(half, key=key, digest_size=4, person=b"shardflake-perm", salt=bytes([turn])).hexdigest()
            left, right = right, f"{int(left, 2) ^ int(mixed, 16):032b}"
        number = int(left + right, 2)
        if number < 2**63:
            return number


@given(IDS, st.binary(min_size=16, max_size=64))
def test_the_permutation_is_undone_by_its_key_alone(number: int, key: bytes) -> None:
    hidden = Permutation(key).hide(number)
    assert 0 <= hidden <= MAX_ID
    assert Permutation(key).reveal(hidden) == number
    assert Permutation(key + b"x" if len(key) < 64 else key[1:]).hide(number) != hidden


def test_neighbours_are_scattered_by_half_of_their_bits() -> None:
    def mean_difference(shuffle: Permutation | None) -> float:
        changed = 0
        for number in range(399608120327803946, 399608120327803946 + 2000):
            one, other = (shuffle.hide(n) if shuffle else n for n in (number, number + 1))
            changed += (one ^ other).bit_count()
        return changed / 2000

    assert 31 < mean_difference(Permutation(KEY)) < 32
    assert mean_difference(None) < 3  # ids as they are


@pytest.mark.parametrize("key", [b"", bytes(15), bytes(65), "0123456789abcdef"])
def test_bad_keys_are_refused_and_never_shown(key: bytes) -> None:
    with pytest.raises(InvalidIdError, match="16 to 64 random bytes") as raised:
        Permutation(key)
    assert "0123" not in str(raised.value)
    assert "0123" not in repr(Permutation(b"0123456789abcdef"))


def test_public_ids_of_old_keys_stay_readable() -> None:
    before = PublicIds({1: KEY}, current=1)
    after = PublicIds({1: KEY, 2: bytes(32)}, current=2)
    text = before.encode(399608120327803946)
    assert text == "15QT861NMNB50J"
    assert after.decode(text) == 399608120327803946
    assert after.encode(399608120327803946)[0] == "2"
    assert after.decode(after.encode("399608120327803946")) == 399608120327803946
    with pytest.raises(InvalidIdError, match="known versions, 1"):
        before.decode(after.encode(5))


@pytest.mark.parametrize(
    "text", ["", "1", "15QT861NMNB50", "15QT861NMNB50J0", "15QT861NMNB50j", "18QT861NMNB50J", "!5QT861NMNB50J"]
)
def test_public_ids_refuse(text: str) -> None:
    with pytest.raises(InvalidIdError):
        PublicIds({1: KEY}, current=1).decode(text)


@pytest.mark.parametrize(("versions", "current"), [([], 0), ([1], 2), ([32], 32), ([-1], -1)])
def test_versions_of_keys_are_checked(versions: list[int], current: int) -> None:
    with pytest.raises(InvalidIdError, match="versions of 0 to 31"):
        PublicIds(dict.fromkeys(versions, KEY), current)
