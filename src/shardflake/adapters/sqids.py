"""sqids: short texts that look random, by its library. No secret: whoever guesses the alphabet reads them."""

from __future__ import annotations

from sqids import Sqids

from shardflake.errors import InvalidIdError
from shardflake.ids import parse_id


def encode_sqid(value: int | str, sqids: Sqids) -> str:
    """Return the sqid of an id.

    :param value: what :func:`shardflake.ids.parse_id` accepts.
    :param sqids: the library's encoder, with the alphabet, length and blocklist to keep for good.
    :raises InvalidIdError: if it is no id.
    """
    return sqids.encode([parse_id(value)])


def decode_sqid(text: str, sqids: Sqids) -> int:
    """Return the id of a text that :func:`encode_sqid` made with the same encoder.

    Strict: the library reads many texts as one number, and only the one that it would write is taken.

    :raises InvalidIdError: for any other text.
    """
    numbers = sqids.decode(text)
    if len(numbers) != 1 or sqids.encode(numbers) != text:
        raise InvalidIdError(f"{text!r} is not the sqid of an id, as this alphabet writes it")
    return parse_id(numbers[0])
