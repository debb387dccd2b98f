"""The marshmallow field of ids (extra ``marshmallow``): loads an ``int``, dumps a string of decimal digits.

::

    class OrderSchema(Schema):
        id = IdField(required=True)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import ValidationError, fields

from shardflake.errors import InvalidIdError
from shardflake.ids import parse_id

__all__ = ["IdField"]


class IdField(fields.Field[int]):
    """An id. Takes an ``int`` or its decimal digits, as :func:`shardflake.parse_id` does; refuses floats, bools, other text."""

    def _serialize(self, value: int | None, attr: str | None, obj: Any, **kwargs: Any) -> str | None:
        return None if value is None else str(parse_id(value))

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> int:
        try:
            return parse_id(value)
        except InvalidIdError as error:
            raise ValidationError(str(error)) from error
