"""The Pydantic type of ids (extra ``pydantic``): ``int`` in Python, a string of decimal digits in JSON and its schemas.

::

    class Order(BaseModel):
        id: ShardflakeId

FastAPI takes it in bodies, responses, paths and queries.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from shardflake.adapters import DIGITS
from shardflake.ids import parse_id

__all__ = ["ShardflakeId"]


class _Schema:
    """Tells Pydantic how ids are validated, written and described."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        # "json" alone: model_dump() gives an int, as Python wants it
        written = core_schema.plain_serializer_function_ser_schema(
            str, when_used="json", return_schema=core_schema.str_schema()
        )
        return core_schema.no_info_plain_validator_function(parse_id, serialization=written)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "pattern": DIGITS, "examples": ["506528756379161600"]}


ShardflakeId = Annotated[int, _Schema()]
"""An id. Takes an ``int`` or its decimal digits, as :func:`shardflake.parse_id` does; refuses floats, bools, other texts."""
