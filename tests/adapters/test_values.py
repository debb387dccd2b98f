"""Pydantic, FastAPI, msgspec and marshmallow: ``int`` inside, text in JSON, and the same values refused by all."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import fastapi
import httpx
import marshmallow
import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardflake.adapters import DIGITS
from shardflake.adapters.marshmallow import IdField
from shardflake.adapters.msgspec import Id, dec_hook, enc_hook, schema_hook
from shardflake.adapters.pydantic import ShardflakeId
from shardflake.layout import MAX_ID

BEYOND_DOUBLES = 2**53 + 1


class Model(pydantic.BaseModel):
    id: ShardflakeId
    parent: ShardflakeId | None = None


class Struct(msgspec.Struct):
    id: Id


class Schema(marshmallow.Schema):
    id = IdField(required=True)
    parent = IdField(allow_none=True)


def read_by_pydantic(text: str) -> int:
    return Model.model_validate_json(text).id


def read_by_msgspec(text: str) -> int:
    return msgspec.json.decode(text, type=Struct, dec_hook=dec_hook).id


def read_by_marshmallow(text: str) -> int:
    value = Schema().loads(text)["id"]
    assert type(value) is int
    return value


WRITERS: dict[str, Callable[[int], str | bytes]] = {
    "pydantic": lambda value: Model(id=value).model_dump_json(),
    "msgspec": lambda value: msgspec.json.encode(Struct(Id(value)), enc_hook=enc_hook),
    "marshmallow": lambda value: Schema().dumps({"id": value}),
}
READERS: dict[str, tuple[Callable[[str], int], type[Exception]]] = {
    "pydantic": (read_by_pydantic, pydantic.ValidationError),
    "msgspec": (read_by_msgspec, msgspec.ValidationError),
    "marshmallow": (read_by_marshmallow, marshmallow.ValidationError),
}


@pytest.mark.parametrize("library", READERS)
@pytest.mark.parametrize("value", [0, 1, BEYOND_DOUBLES, MAX_ID])
def test_text_and_numbers_are_read_and_text_is_written(library: str, value: int) -> None:
    read, _ = READERS[library]
    assert read(json.dumps({"id": str(value)})) == value
    assert read(json.dumps({"id": value})) == value
    assert json.loads(WRITERS[library](value))["id"] == str(value)


@pytest.mark.parametrize("library", READERS)
@pytest.mark.parametrize(
    "value",
    [
        *("-1", "05", "+5", " 5", "5 ", "1.0", "1e3", "0x10", "1_000", "", "\uff15", str(MAX_ID + 1), "9" * 5000),
        *(-1, MAX_ID + 1, 5.0, 5.5, True, False, None, [], {}),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_what_is_no_id_is_refused_by_the_librarys_own_error(library: str, value: Any) -> None:
    read, error = READERS[library]
    with pytest.raises(error):
        read(json.dumps({"id": value}))


@pytest.mark.parametrize("library", READERS)
@given(text=st.text())
def test_no_text_raises_anything_but_the_librarys_error(library: str, text: str) -> None:
    read, error = READERS[library]
    with suppress(error):
        assert str(read(json.dumps({"id": text}))) == text


@pytest.mark.parametrize("library", READERS)
def test_messages_name_the_value_and_what_is_allowed(library: str) -> None:
    read, error = READERS[library]
    with pytest.raises(error, match="9223372036854775808 is not an id: ids are 0 to 9223372036854775807"):
        read(json.dumps({"id": str(MAX_ID + 1)}))


def test_pydantic_keeps_ints_in_python_and_writes_text_in_every_json() -> None:
    model = Model(id=MAX_ID, parent="7")  # type: ignore[arg-type]
    assert model.model_dump() == {"id": MAX_ID, "parent": 7}
    assert model.model_dump(mode="json") == {"id": str(MAX_ID), "parent": "7"}
    assert Model.model_validate_json(model.model_dump_json()) == model
    adapter = pydantic.TypeAdapter(dict[ShardflakeId, list[ShardflakeId]])
    assert adapter.validate_json(adapter.dump_json({MAX_ID: [BEYOND_DOUBLES]})) == {MAX_ID: [BEYOND_DOUBLES]}


@pytest.mark.parametrize("mode", ["validation", "serialization"])
def test_the_schema_of_pydantic_says_string_both_ways(mode: Any) -> None:
    schema = Model.model_json_schema(mode=mode)["properties"]["id"]
    assert (schema["type"], schema["pattern"]) == ("string", DIGITS)


def test_a_plain_int_of_pydantic_would_lose_its_text() -> None:
    class Plain(pydantic.BaseModel):
        id: int

    assert json.loads(Plain(id=MAX_ID).model_dump_json())["id"] == MAX_ID
    assert Plain.model_json_schema()["properties"]["id"]["type"] == "integer"


def test_msgspec_has_a_schema_and_an_id_is_an_int() -> None:
    schema = msgspec.json.schema(Struct, schema_hook=schema_hook)
    assert schema["$defs"]["Struct"]["properties"]["id"] == {"type": "string", "pattern": DIGITS}
    assert Id("5") + 1 == 6
    assert {Id(5): "five"}[Id("5")] == "five"
    packed = msgspec.msgpack.encode(Struct(Id(MAX_ID)), enc_hook=enc_hook)
    assert msgspec.msgpack.decode(packed, type=Struct, dec_hook=dec_hook).id == MAX_ID


def test_the_hooks_of_msgspec_leave_other_types_alone() -> None:
    for call in (lambda: enc_hook(object()), lambda: dec_hook(complex, 1), lambda: schema_hook(complex)):
        with pytest.raises(NotImplementedError, match="no Id"):
            call()


def test_marshmallow_takes_none_only_where_it_is_allowed() -> None:
    assert Schema().load({"id": "5", "parent": None}) == {"id": 5, "parent": None}
    assert Schema().dump({"id": 5, "parent": None}) == {"id": "5", "parent": None}
    with pytest.raises(marshmallow.ValidationError):
        Schema().load({})


def shop() -> fastapi.FastAPI:
    application = fastapi.FastAPI()

    @application.get("/orders/{order_id}")
    def order(order_id: ShardflakeId, after: ShardflakeId | None = None) -> Model:
        assert type(order_id) is int
        return Model(id=order_id, parent=after)

    @application.post("/orders")
    def create(order: Model) -> Model:
        return order

    return application


async def test_fastapi_reads_ids_in_paths_queries_and_bodies_and_answers_with_text() -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(shop()), base_url="http://shop") as client:
        answer = await client.get(f"/orders/{MAX_ID}", params={"after": str(BEYOND_DOUBLES)})
        assert answer.json() == {"id": str(MAX_ID), "parent": str(BEYOND_DOUBLES)}
        for body in ({"id": str(MAX_ID)}, {"id": MAX_ID}):
            assert (await client.post("/orders", json=body)).json() == {"id": str(MAX_ID), "parent": None}
        for path in ("/orders/-1", "/orders/05", f"/orders/{MAX_ID + 1}", "/orders/5.0"):
            refused = await client.get(path)
            assert refused.status_code == 422
            assert "is not an id" in refused.json()["detail"][0]["msg"]
        assert (await client.post("/orders", json={"id": 5.0})).status_code == 422


def test_the_openapi_of_fastapi_says_string_everywhere() -> None:
    document = shop().openapi()
    path, query = document["paths"]["/orders/{order_id}"]["get"]["parameters"]
    assert path["schema"]["type"] == "string"
    assert query["schema"]["anyOf"][0]["type"] == "string"
    assert document["components"]["schemas"]["Model"]["properties"]["id"]["type"] == "string"


@pytest.mark.parametrize("name", ["pydantic", "msgspec", "marshmallow", "django"])
def test_no_adapter_imports_another_library(name: str) -> None:
    others = {"pydantic", "msgspec", "marshmallow", "django", "fastapi", "sqlalchemy", "sqlmodel"} - {name}
    program = f"import sys, shardflake.adapters.{name}; print(sorted({others!r} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
