"""Pydantic 2, and with it FastAPI and SQLModel: ``Id`` is an ``int`` in Python and its decimal digits in JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from shardflake.ids import parse_id

JSON_SCHEMA = {
    "type": "string",
    "format": "int64",
    "pattern": "^(0|[1-9][0-9]{0,18})$",
    "examples": ["506528756379161600"],
}
"""JSON schema of an id, for validation and serialization alike."""


class _IdSchema:
    """How Pydantic reads and writes an id; an error of ours is a ``ValueError``, and so one of its validation errors."""

    @staticmethod
    def __get_pydantic_core_schema__(source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            parse_id, serialization=core_schema.to_string_ser_schema(when_used="json-unless-none")
        )

    @staticmethod
    def __get_pydantic_json_schema__(schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return dict(JSON_SCHEMA)


if TYPE_CHECKING:
    Id = int
else:
    Id = Annotated[int, _IdSchema]
"""Type of a field or a parameter: takes an int or its decimal digits, 0 to 2**63 - 1; an ``int`` inside, digits in JSON."""
