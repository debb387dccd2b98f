"""Public forms of an id: base 32 that sorts as the number does, sqids, and a keyed permutation that hides time and rate.

All take and give the 63 bits of an id, 0 to 2**63 - 1.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import TYPE_CHECKING

from shardflake import crockford, unixtime
from shardflake.errors import InvalidIdError, shown

if TYPE_CHECKING:
    from sqids import Sqids

BITS = 63
BASE32_LENGTH = 13
_LONGEST_SQID = 255  # the library's limit for min_length; 63 bits need 66 characters with its smallest alphabet


def to_base32(value: int) -> str:
    """Return an id as 13 characters of Crockford's base 32; texts sort, byte by byte, as the ids do.

    :raises InvalidIdError: if the number is not 0 to 2**63 - 1.
    """
    return crockford.encode(unixtime.check("id", value, BITS), BASE32_LENGTH)


def from_base32(text: object) -> int:
    """Return the id that :func:`to_base32` wrote.

    :raises InvalidIdError: for anything else; for lower case and I, L and O too, saying how the id is written.
    """
    return crockford.decode(text, length=BASE32_LENGTH, bits=BITS, kind="an id in base32")


class SqidsCodec:
    """Writes ids as sqids, by the library of that name (extra ``sqids``).

    Short, but neither secret nor sorted: whoever knows or guesses the alphabet reads the number.

    :param alphabet: characters to use, at least 3, all different; the library's own without it.
    :param min_length: shortest text, 0 to 255 characters.
    :raises InvalidIdError: if the library refuses these.
    """

    def __init__(self, alphabet: str | None = None, min_length: int = 0) -> None:
        self._alphabet = alphabet
        self._min_length = min_length
        try:
            self._sqids.encode([0])
        except (TypeError, ValueError) as error:
            raise InvalidIdError(f"no sqids with alphabet {shown(alphabet)} and min_length {min_length!r}: {error}") from error

    @cached_property
    def _sqids(self) -> Sqids:
        from sqids import Sqids

        if self._alphabet is None:
            return Sqids(min_length=self._min_length)
        return Sqids(self._alphabet, self._min_length)

    def encode(self, value: int) -> str:
        """Return the sqid of an id.

        :raises InvalidIdError: if the number is not 0 to 2**63 - 1.
        """
        return self._sqids.encode([unixtime.check("id", value, BITS)])

    def decode(self, text: object) -> int:
        """Return the id that :meth:`encode` wrote.

        :raises InvalidIdError: for anything else; for the other sqids of the same number too, of which there are many.
        """
        if not isinstance(text, str):
            raise InvalidIdError(f"{shown(text)} is a {type(text).__name__}, not a sqid: give its text")
        if len(text) > _LONGEST_SQID:
            raise InvalidIdError(f"{text[:64]!r}… is not a sqid of an id: it has {len(text)} characters")
        numbers = self._sqids.decode(text)
        if len(numbers) != 1:
            raise InvalidIdError(f"{text!r} is not a sqid of an id: it stands for {len(numbers)} numbers, not one")
        value = unixtime.check(f"{text!r} stands for a number that is no id:", numbers[0], BITS)
        if (canonical := self.encode(value)) != text:
            raise InvalidIdError(f"{text!r} is not the sqid of an id as it must be written: write {canonical!r}")
        return value


class Permutation:
    """Swaps ids for other numbers of 63 bits and back, by a key; different ids stay different.

    A Feistel network of 10 rounds over 64 bits, each round keyed BLAKE2b of the round's number and a half; numbers above 63
    bits go through it again (cycle walking) until one fits.

    Hides from who lacks the key: the time, the shard, the counter, how many ids lie between two, and which came first.
    Does not hide: that two public numbers are the same id. Does not protect: a number is no permission, and nothing tells a
    forged one from a real one, as every number is some id. Lose the key, and the ids cannot be read; change it, and every
    public number changes. Public numbers do not sort by time, so keep them out of keys and indexes.

    :param key: 16 to 64 random bytes, such as ``secrets.token_bytes(32)``, kept secret; a key for each kind of id keeps their
        public numbers apart.
    :raises InvalidIdError: for a key of another type or length; the message does not show it.
    """

    ROUNDS = 10

    def __init__(self, key: bytes) -> None:
        if not isinstance(key, bytes):
            raise InvalidIdError(f"the key is a {type(key).__name__}: give 16 to 64 bytes, such as secrets.token_bytes(32)")
        if not 16 <= len(key) <= 64:
            raise InvalidIdError(f"the key has {len(key)} bytes: give 16 to 64, such as secrets.token_bytes(32)")
        self._rounds = [
            hashlib.blake2b(key=key, digest_size=4, salt=bytes([number]), person=b"shardflake") for number in range(self.ROUNDS)
        ]

    def hide(self, value: int) -> int:
        """Return the public number of an id, 0 to 2**63 - 1.

        :raises InvalidIdError: if the id is not 0 to 2**63 - 1.
        """
        number = unixtime.check("id", value, BITS)
        while True:
            left, right = number >> 32, number & 0xFFFF_FFFF
            for keyed in self._rounds:
                left, right = right, left ^ _mix(keyed, right)
            number = left << 32 | right
            if number >> BITS == 0:
                return number

    def reveal(self, value: int) -> int:
        """Return the id of a public number.

        :raises InvalidIdError: if the number is not 0 to 2**63 - 1; any other one is the public number of some id.
        """
        number = unixtime.check("public number", value, BITS)
        while True:
            left, right = number >> 32, number & 0xFFFF_FFFF
            for keyed in reversed(self._rounds):
                left, right = right ^ _mix(keyed, left), left
            number = left << 32 | right
            if number >> BITS == 0:
                return number

    def __repr__(self) -> str:
        """Return a text that does not show the key."""
        return "Permutation(key=…)"


def _mix(keyed: hashlib.blake2b, half: int) -> int:
    """Return 32 bits made of a round's key and a half."""
    state = keyed.copy()
    state.update(half.to_bytes(4, "big"))
    return int.from_bytes(state.digest(), "big")
