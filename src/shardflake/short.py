"""Short public forms of ids: Crockford's base32, and a keyed permutation for ids that must not tell their time.

Pure: no clock, no server, nothing beyond the standard library.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from shardflake.errors import InvalidIdError
from shardflake.ids import parse_id
from shardflake.layout import MAX_ID

BASE32_LENGTH = 13
"""Characters of an id in base32: 3 bits in the first one, 5 in each of the others."""

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_VALUES = {character: value for value, character in enumerate(_ALPHABET)}
_ROUNDS = 10
_HALF = 2**32 - 1


def encode_base32(value: int | str) -> str:
    """Return an id in Crockford's base32: 13 characters, which sort as the numbers do.

    :param value: what :func:`shardflake.ids.parse_id` accepts.
    :raises InvalidIdError: if it is no id.
    """
    number = parse_id(value)
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(60, -1, -5))


def decode_base32(text: str) -> int:
    """Return the id of a text that :func:`encode_base32` made.

    Strict, so that an id has one text: capitals only, and no I, L or O read as a digit.

    :raises InvalidIdError: for another length, a character outside the alphabet, or a number above 2**63 - 1.
    """
    if not isinstance(text, str) or len(text) != BASE32_LENGTH:
        raise InvalidIdError(f"{text!r} is not an id in base32: it must be a text of {BASE32_LENGTH} characters")
    number = 0
    for character in text:
        if character not in _VALUES:
            raise InvalidIdError(f"{text!r} is not an id in base32: {character!r} is none of {_ALPHABET}")
        number = number << 5 | _VALUES[character]
    if number > MAX_ID:
        raise InvalidIdError(f"{text!r} is not an id in base32: ids end at {encode_base32(MAX_ID)}")
    return number


class Permutation:
    """A secret, reversible shuffle of the numbers 0 to 2**63 - 1, chosen by a key.

    It hides what an id tells: its time, its shard, and how many there are between two. It is deterministic, and no signature:
    the same id always gives the same number, and every number comes from some id. Whoever has the key can undo it.

    A Feistel network of 10 rounds over 64 bits, whose round function is BLAKE2b keyed; a result above 63 bits is put through
    again until it fits ("cycle walking"), twice on average.

    :param key: secret random bytes, 16 to 64, such as ``secrets.token_bytes(32)``.
    :raises InvalidIdError: for a key that is not bytes or of another length.
    """

    def __init__(self, key: bytes) -> None:
        if not isinstance(key, bytes) or not 16 <= len(key) <= 64:
            given = f"{len(key)} bytes" if isinstance(key, bytes) else f"a {type(key).__name__}"
            raise InvalidIdError(f"the key is {given}; give 16 to 64 random bytes, such as secrets.token_bytes(32)")
        self._rounds = [
            hashlib.blake2b(key=key, digest_size=4, person=b"shardflake-perm", salt=bytes([number]))
            for number in range(_ROUNDS)
        ]

    def __repr__(self) -> str:
        return "Permutation(key=...)"

    def hide(self, value: int | str) -> int:
        """Return the number, 0 to 2**63 - 1, that stands for an id.

        :param value: what :func:`shardflake.ids.parse_id` accepts.
        :raises InvalidIdError: if it is no id.
        """
        number = self._shuffle(parse_id(value))
        while number > MAX_ID:
            number = self._shuffle(number)
        return number

    def reveal(self, value: int | str) -> int:
        """Return the id that a number of :meth:`hide` stands for.

        :param value: an int of 0 to 2**63 - 1, or its decimal digits.
        :raises InvalidIdError: if it is not such a number.
        """
        number = self._unshuffle(parse_id(value))
        while number > MAX_ID:
            number = self._unshuffle(number)
        return number

    def _shuffle(self, number: int) -> int:
        left, right = number >> 32, number & _HALF
        for round_number in range(_ROUNDS):
            left, right = right, left ^ self._mix(round_number, right)
        return left << 32 | right

    def _unshuffle(self, number: int) -> int:
        left, right = number >> 32, number & _HALF
        for round_number in reversed(range(_ROUNDS)):
            left, right = right ^ self._mix(round_number, left), left
        return left << 32 | right

    def _mix(self, round_number: int, half: int) -> int:
        digest = self._rounds[round_number].copy()  # the key and the number of the round are in it already
        digest.update(half.to_bytes(4, "big"))
        return int.from_bytes(digest.digest(), "big")


class PublicIds:
    """Texts of 14 characters for ids that must not tell their time: the key's version, then the permuted id in base32.

    Keys are kept by version, so that a new one can come while texts of the old ones are still about.

    :param keys: keys by version, 0 to 31; each as for :class:`Permutation`.
    :param current: the version for new texts.
    :raises InvalidIdError: for a version out of range or a bad key, or if there is no key of the current version.
    """

    def __init__(self, keys: Mapping[int, bytes], current: int) -> None:
        if any(version not in range(len(_ALPHABET)) for version in keys) or current not in keys:
            raise InvalidIdError(
                f"the versions are {list(keys)} and {current}; give keys for versions of 0 to 31, {current} too"
            )
        self._permutations = {version: Permutation(key) for version, key in keys.items()}
        self._current = current

    def encode(self, value: int | str) -> str:
        """Return the text for an id.

        :param value: what :func:`shardflake.ids.parse_id` accepts.
        :raises InvalidIdError: if it is no id.
        """
        return _ALPHABET[self._current] + encode_base32(self._permutations[self._current].hide(value))

    def decode(self, text: str) -> int:
        """Return the id of a text that :meth:`encode` made.

        :raises InvalidIdError: for a text of another form, or of a version without a key.
        """
        if not isinstance(text, str) or len(text) != 1 + BASE32_LENGTH:
            raise InvalidIdError(f"{text!r} is not a public id: it must be a text of {1 + BASE32_LENGTH} characters")
        permutation = self._permutations.get(_VALUES.get(text[0], -1))
        if permutation is None:
            known = "".join(_ALPHABET[version] for version in sorted(self._permutations))
            raise InvalidIdError(f"{text!r} is not a public id: it starts with none of the known versions, {known}")
        return permutation.reveal(decode_base32(text[1:]))
