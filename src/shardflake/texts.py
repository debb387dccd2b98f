"""The texts that stand for one number: decimal digits, hexadecimal, base 32, the 26 characters of a ULID, a UUID's."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from shardflake import short, ulid, uuids
from shardflake.errors import InvalidIdError, shown
from shardflake.layout import MAX_ID

_MAX = 2**128 - 1
_SHAPES = "give decimal digits, 0x and hexadecimal ones, the 26 characters of a ULID or 36 of a UUID; name base32"
_HEX = re.compile(r"0x[0-9a-f]+")


class TextForm(StrEnum):
    """A way to write a number."""

    DECIMAL = "decimal"
    HEX = "hex"
    BASE32 = "base32"
    ULID = "ulid"
    UUID = "uuid"


@dataclass(frozen=True, slots=True)
class _Codec:
    looks: Callable[[str], bool]
    parse: Callable[[str], int]
    render: Callable[[int], str]


def parse(text: str, form: TextForm | None = None) -> tuple[TextForm, int]:
    """Return the form of a text and the number that it stands for.

    :param text: without spaces.
    :param form: what it is; without, the form is taken from its shape. Base 32 must be named: its digits may be decimal ones.
    :returns: the form, and 0 to 2**128 - 1; 0 to 2**63 - 1 in base 32.
    :raises InvalidIdError: if it is none, has the shape of two (26 digits, not led by 0), or breaks the rules of its form.
    """
    if form is None:
        if text.isascii() and text.isdigit() and len(text) < ulid.LENGTH and text[0] != "0":
            return TextForm.DECIMAL, int(text)  # nothing can be wrong with it: the way that lists of a million ids go
        if text.isascii() and text.isdigit() and len(text) != ulid.LENGTH:
            return TextForm.DECIMAL, _parse_decimal(text)
        forms = [form for form, codec in _CODECS.items() if form is not TextForm.BASE32 and codec.looks(text)]
        if not forms:
            raise InvalidIdError(f"{text[:64]!r} is not an id: {_SHAPES}")
        if len(forms) > 1:
            raise InvalidIdError(f"{text!r} is ambiguous: it may be {' or '.join(forms)}; name the form")
        form = forms[0]
    return form, _CODECS[form].parse(text)


def render(value: int, form: TextForm) -> str:
    """Return a number's text in a form.

    :raises InvalidIdError: if it does not fit: above 63 bits in base 32, above 128 elsewhere, or negative.
    """
    if not 0 <= value <= _MAX:
        raise InvalidIdError(f"{shown(value)} does not fit: it must be 0 to {_MAX}")
    return _CODECS[form].render(value)


def _parse_decimal(text: str) -> int:
    if text[:1] == "-" and text[1:].isdigit():
        raise InvalidIdError(f"{text[:64]} is not an id: ids are 0 to {MAX_ID}, never negative")
    if not (text.isascii() and text.isdigit()) or (text[0] == "0" and text != "0"):
        raise InvalidIdError(f"{text[:64]!r} is not an id in decimal: give digits without sign, spaces or leading zeros")
    value = int(text) if len(text) < 40 else _MAX + 1
    if value > _MAX:
        raise InvalidIdError(f"{text[:64]} is not an id: ids are 0 to {MAX_ID}, and of 128 bits to {_MAX}")
    return value


def _parse_hex(text: str) -> int:
    if not _HEX.fullmatch(text):
        raise InvalidIdError(
            f"{text[:64]!r} is not an id in hexadecimal: give 0x and lower-case digits, such as 0x58bb0bb7bb01442a"
        )
    digits = text[2:].lstrip("0")
    if len(digits) > 32:
        raise InvalidIdError(f"{text[:64]!r} has more than 128 bits: the largest number is {_MAX:#x}")
    return int(digits or "0", 16)


def _looks_base32(length: int) -> Callable[[str], bool]:
    return lambda text: len(text) == length and text.isascii() and text.isalnum()


_CODECS = {
    TextForm.DECIMAL: _Codec(
        lambda text: text.removeprefix("-").isdigit() and (text[0] != "0" or text == "0"), _parse_decimal, str
    ),
    TextForm.HEX: _Codec(lambda text: text[:2] in ("0x", "0X") and len(text) > 2, _parse_hex, hex),
    TextForm.BASE32: _Codec(_looks_base32(short.BASE32_LENGTH), short.from_base32, short.to_base32),
    TextForm.ULID: _Codec(_looks_base32(ulid.LENGTH), ulid.parse, ulid.render),
    TextForm.UUID: _Codec(
        lambda text: text.count("-") == 4 and text[:1] != "-",
        lambda text: uuids.parse(text).int,
        lambda value: str(UUID(int=value)),
    ),
}
