"""Ids in msgspec (extra ``msgspec``; nothing is imported): an ``int`` of its own class, for hooks never see a plain one.

::

    class Order(msgspec.Struct):
        id: Id

    msgspec.json.encode(order, enc_hook=enc_hook)
    msgspec.json.decode(text, type=Order, dec_hook=dec_hook)
    msgspec.json.schema(Order, schema_hook=schema_hook)
"""

from __future__ import annotations

from typing import Any

from shardflake.adapters import DIGITS
from shardflake.ids import parse_id

__all__ = ["Id", "dec_hook", "enc_hook", "schema_hook"]


class Id(int):
    """An id, 0 to 2**63 - 1; an ``int`` in every other way.

    :param value: an ``int`` or its decimal digits, as :func:`shardflake.parse_id` takes it.
    :raises InvalidIdError: for anything else.
    """

    __slots__ = ()

    def __new__(cls, value: int | str) -> Id:
        return super().__new__(cls, parse_id(value))


def enc_hook(value: Any) -> str:
    """Return the decimal digits of an id; to be given to msgspec as ``enc_hook``.

    :raises NotImplementedError: for a value of another type, as msgspec wants it.
    """
    if isinstance(value, Id):
        return str(int(value))
    raise NotImplementedError(f"msgspec cannot write a {type(value).__name__}, and it is no Id")


def dec_hook(type_: type, value: Any) -> Id:
    """Return the id for what msgspec read; to be given to it as ``dec_hook``.

    :raises InvalidIdError: if it is no id; msgspec makes its ValidationError of that.
    :raises NotImplementedError: for another type.
    """
    if type_ is Id:
        return Id(value)
    raise NotImplementedError(f"msgspec cannot read a {type_.__name__}, and it is no Id")


def schema_hook(type_: type) -> dict[str, Any]:
    """Return the JSON schema of an id; to be given to msgspec as ``schema_hook``.

    :raises NotImplementedError: for another type.
    """
    if type_ is Id:
        return {"type": "string", "pattern": DIGITS}
    raise NotImplementedError(f"msgspec cannot describe a {type_.__name__}, and it is no Id")
