"""msgspec: ``Id`` is an ``int`` of its own type, which these hooks write and read as decimal digits.

::

    msgspec.json.encode(order, enc_hook=encode_hook)
    msgspec.json.decode(text, type=Order, dec_hook=decode_hook)
"""

from __future__ import annotations

from typing import Any

from shardflake.ids import parse_id


class Id(int):
    """An id, for fields of a ``msgspec.Struct``.

    ``Order(id=Id(row.id))``: msgspec does not check what a constructor is given, and would write a plain ``int`` as a number.

    :raises InvalidIdError: for anything but an int or its decimal digits, 0 to 2**63 - 1.
    """

    __slots__ = ()

    def __new__(cls, value: int | str) -> Id:
        return super().__new__(cls, parse_id(value))


def encode_hook(value: Any) -> Any:
    """Return the digits of an :class:`Id`; an ``enc_hook``.

    :raises NotImplementedError: for any other type, as msgspec expects.
    """
    if isinstance(value, Id):
        return str(int(value))
    raise NotImplementedError(f"{type(value).__name__} is not an id")


def decode_hook(kind: type, value: Any) -> Any:
    """Return an :class:`Id` for its digits or an int; a ``dec_hook``.

    :raises InvalidIdError: if it is no id; msgspec makes a ``ValidationError`` with its path of it.
    :raises NotImplementedError: for any other type, as msgspec expects.
    """
    if kind is Id:
        return Id(value)
    raise NotImplementedError(f"{kind.__name__} is not an id")


def schema_hook(kind: type) -> dict[str, Any]:
    """Return the JSON schema of an :class:`Id`: a string; a ``schema_hook``.

    :raises NotImplementedError: for any other type, as msgspec expects.
    """
    if kind is Id:
        return {"type": "string", "format": "int64", "pattern": "^(0|[1-9][0-9]{0,18})$"}
    raise NotImplementedError(f"{kind.__name__} is not an id")
