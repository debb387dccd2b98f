"""Public forms: base 32 in the order of the numbers, sqids, and the keyed permutation."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardflake import InvalidIdError
from shardflake.layout import MAX_ID
from shardflake.short import Permutation, SqidsCodec, from_base32, to_base32

IDS = st.integers(0, MAX_ID)
KEY = bytes(range(16))
PERMUTATION = Permutation(KEY)
SQIDS = SqidsCodec()

VECTORS = {
    KEY: {
        0: 2569233017117000597,
        1: 5185505181658071190,
        2: 9031226951536967360,
        506528756379161600: 8534968805882053510,
        MAX_ID: 5409521120676624131,
    },
    b"an example key, not for real use": {
        0: 7162168758798651327,
        1: 5409065558164981114,
        2: 2629369537101494204,
        506528756379161600: 4653670067593594129,
        MAX_ID: 1470479496051230655,
    },
}
"""Frozen: public numbers that are out in the world must stay readable."""


def feistel(key: bytes, number: int) -> int:
    """Return the permuted number, straight from the description, by blocks of bytes instead of integers."""
    while True:
        block = number.to_bytes(8, "big")
        for index in range(10):
            mixed = hashlib.blake2b(block[4:], key=key, digest_size=4, salt=bytes([index]), person=b"shardflake").digest()
            block = block[4:] + bytes(a ^ b for a, b in zip(block[:4], mixed, strict=True))
        number = int.from_bytes(block, "big")
        if number < 2**63:
            return number


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0000000000000"), (1, "0000000000001"), (31, "000000000000Z"), (32, "0000000000010"), (MAX_ID, "7ZZZZZZZZZZZZ")],
)
def test_base32_as_computed_by_hand(value: int, text: str) -> None:
    assert to_base32(value) == text
    assert from_base32(text) == value


@given(IDS, IDS)
def test_base32_sorts_as_the_numbers_do(one: int, other: int) -> None:
    assert (to_base32(one) < to_base32(other)) == (one < other)
    assert from_base32(to_base32(one)) == one


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("000000000000", "it has 12 characters, not 13"),
        ("00000000000000", "it has 14 characters, not 13"),
        ("000000000000U", "'U' is not one of"),
        ("000000000000a", "write '000000000000A'"),
        ("000000000000O", "write '0000000000000'"),
        ("000000000000I", "write '0000000000001'"),
        ("8000000000000", "the largest is 7ZZZZZZZZZZZZ"),
        (" 000000000000", "' ' is not one of"),
        ("\uff10000000000000", "is not one of"),
        (5, "is a int, not an id in base32"),
    ],
)
def test_base32_is_read_strictly(text: Any, message: str) -> None:
    with pytest.raises(InvalidIdError, match=message):
        from_base32(text)


@given(IDS)
def test_sqids_round_trip(value: int) -> None:
    assert SQIDS.decode(SQIDS.encode(value)) == value


def test_a_sqid_of_the_library() -> None:
    assert SQIDS.encode(1) == "Uk"  # the library's own vector for [1]
    assert len(SqidsCodec(min_length=12).encode(1)) == 12
    assert SqidsCodec("0123456789abcdef").decode(SqidsCodec("0123456789abcdef").encode(MAX_ID)) == MAX_ID


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "stands for 0 numbers"),
        ("!", "stands for 0 numbers"),
        ("86Rf07", "stands for 3 numbers"),  # the library's vector for [1, 2, 3]
        ("U" * 300, "it has 300 characters"),
        (5, "is a int, not a sqid"),
        ("Aaaaaaaaaaaaaaaa", "does not fit"),  # 230953267405098821457379245
    ],
)
def test_sqids_are_read_strictly(text: Any, message: str) -> None:
    with pytest.raises(InvalidIdError, match=message):
        SQIDS.decode(text)


def test_another_sqid_of_the_same_number_is_refused() -> None:
    others = [text for text in ("A" + tail for tail in "abcdefgh") if SQIDS._sqids.decode(text)]
    assert others
    spellings = [text for text in others if SQIDS._sqids.encode(SQIDS._sqids.decode(text)) != text]
    assert spellings
    for text in spellings:
        with pytest.raises(InvalidIdError):
            SQIDS.decode(text)


@pytest.mark.parametrize(("alphabet", "length"), [("ab", 0), ("aab", 0), ("abc\u00e4", 0), (None, 256), (None, -1)])
def test_sqids_that_the_library_refuses_are_our_error(alphabet: str | None, length: int) -> None:
    with pytest.raises(InvalidIdError, match="no sqids with"):
        SqidsCodec(alphabet, length)


@pytest.mark.parametrize("key", VECTORS)
def test_the_permutation_never_changes(key: bytes) -> None:
    for value, public in VECTORS[key].items():
        assert Permutation(key).hide(value) == feistel(key, value) == public
        assert Permutation(key).reveal(public) == value


@given(st.binary(min_size=16, max_size=64), IDS)
def test_the_permutation_can_be_undone_and_is_as_described(key: bytes, value: int) -> None:
    permutation = Permutation(key)
    assert permutation.hide(value) == feistel(key, value)
    assert permutation.reveal(permutation.hide(value)) == value
    assert permutation.hide(permutation.reveal(value)) == value


def test_neighbours_and_keys_give_unrelated_numbers() -> None:
    """One bit of the id or of the key changes half of the 63 bits, on average over 400 pairs: 31.5 give or take 0.2."""
    other = Permutation(bytes([1, *range(1, 16)]))
    ids = range(506528756379161600, 506528756379161600 + 400)
    hidden = [PERMUTATION.hide(value) for value in ids]
    assert len(set(hidden)) == len(hidden)
    by_id = [(one ^ PERMUTATION.hide(value ^ 1)).bit_count() for one, value in zip(hidden, ids, strict=True)]
    by_key = [(one ^ other.hide(value)).bit_count() for one, value in zip(hidden, ids, strict=True)]
    for differences in (by_id, by_key):
        assert 30.5 < sum(differences) / len(differences) < 32.5
    rising = sum(one < two for one, two in pairwise(hidden))
    assert 140 < rising < 260, "public numbers show the order of the ids"


@pytest.mark.parametrize("key", [b"", b"x" * 15, b"x" * 65, "x" * 16, None])
def test_keys_that_are_too_short_or_no_bytes_are_refused_and_not_shown(key: Any) -> None:
    with pytest.raises(InvalidIdError, match="give 16 to 64") as caught:
        Permutation(key)
    assert "xxx" not in str(caught.value)


def test_the_key_is_not_in_the_repr() -> None:
    assert repr(Permutation(b"secret secret secret")) == "Permutation(key=…)"


@pytest.mark.parametrize("value", [-1, MAX_ID + 1, True, "5", 5.0])
def test_what_is_no_id_is_refused(value: Any) -> None:
    for function in (to_base32, SQIDS.encode, PERMUTATION.hide, PERMUTATION.reveal):
        with pytest.raises(InvalidIdError):
            function(value)


@given(st.one_of(st.text(), st.text("0123456789ABCDEFGHJKMNPQRSTVWXYZilou", min_size=12, max_size=14), st.none(), st.binary()))
def test_parsers_raise_nothing_but_our_error(text: Any) -> None:
    for parse, render in ((from_base32, to_base32), (SQIDS.decode, SQIDS.encode)):
        with suppress(InvalidIdError):
            assert render(parse(text)) == text


def test_sqids_is_imported_only_when_used() -> None:
    program = "import sys, shardflake.short; sys.exit('sqids' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
