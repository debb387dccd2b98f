"""Crockford's base 32: digits and upper-case letters without I, L, O and U. Text of one length sorts as the numbers do."""

from __future__ import annotations

from shardflake.errors import InvalidIdError, shown

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

_PAIRS = [high + low for high in ALPHABET for low in ALPHABET]
_TO_PYTHON = str.maketrans(ALPHABET, "0123456789ABCDEFGHIJKLMNOPQRSTUV")
_CANONICAL = str.maketrans("ILO", "110")
_DIGITS = frozenset(ALPHABET)


def encode(value: int, length: int) -> str:
    """Return a number in base 32.

    :param value: 0 or more.
    :param length: number of characters; zeros lead.
    :raises InvalidIdError: if the number does not fit.
    """
    if not 0 <= value < 1 << 5 * length:
        raise InvalidIdError(
            f"{shown(value)} does not fit {length} characters of base 32: it must be 0 to {(1 << 5 * length) - 1}"
        )
    pairs = "".join([_PAIRS[value >> shift & 1023] for shift in range(10 * ((length - 1) // 2), -1, -10)])
    return pairs[-length:]


def decode(text: object, *, length: int, bits: int, kind: str) -> int:
    """Return the number that a text in base 32 stands for, if it is written the one way that :func:`encode` writes it.

    :param text: exactly ``length`` characters of the alphabet, in upper case.
    :param bits: width of the number; fewer than the characters could hold.
    :param kind: for messages, such as ``a ULID``.
    :raises InvalidIdError: for another type, length or character, for other spellings of a character, or above ``bits``.
    """
    if not isinstance(text, str):
        raise InvalidIdError(f"{shown(text)} is a {type(text).__name__}, not {kind}: give its {length} characters")
    if len(text) != length:
        raise InvalidIdError(f"{text[:64]!r} is not {kind}: it has {len(text)} characters, not {length}")
    if not _DIGITS.issuperset(text):
        canonical = text.upper().translate(_CANONICAL) if text.isascii() else text
        if _DIGITS.issuperset(canonical):
            raise InvalidIdError(f"{text!r} is not {kind} as it must be written: write {canonical!r}")
        bad = next(character for character in text if character not in _DIGITS)
        raise InvalidIdError(f"{text!r} is not {kind}: {bad!r} is not one of {ALPHABET}")
    value = int(text.translate(_TO_PYTHON), 32)
    if value >> bits:
        raise InvalidIdError(f"{text!r} is not {kind}: the largest is {encode((1 << bits) - 1, length)}, of {bits} bits")
    return value
