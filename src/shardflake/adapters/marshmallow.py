"""marshmallow: ``IdField`` loads an ``int`` from an int or its decimal digits, and dumps the digits."""

from __future__ import annotations

from typing import Any

from marshmallow import ValidationError, fields

from shardflake.errors import InvalidIdError
from shardflake.ids import parse_id


class IdField(fields.Field[int]):
    """A field that holds an id: ``int`` in Python, decimal digits when dumped."""

    def _serialize(self, value: int | None, attr: str | None, obj: Any, **kwargs: Any) -> str | None:
        return None if value is None else str(parse_id(value))

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        try:
            return parse_id(value)
        except InvalidIdError as error:
            raise ValidationError(str(error)) from error
