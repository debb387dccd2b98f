"""Adapters that need no server: what each takes, refuses and writes."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Annotated, Any

import httpx
import msgspec
import pytest
from fastapi import FastAPI, Query
from marshmallow import Schema, ValidationError
from pydantic import BaseModel, TypeAdapter
from pydantic import ValidationError as PydanticError
from sqids import Sqids

from shardflake.adapters import msgspec as for_msgspec
from shardflake.adapters.marshmallow import IdField
from shardflake.adapters.pydantic import Id
from shardflake.adapters.sqids import decode_sqid, encode_sqid
from shardflake.errors import InvalidIdError
from shardflake.layout import MAX_ID

BIG = 506528756379161600  # JavaScript would round it
GOOD = [(BIG, BIG), (str(BIG), BIG), (0, 0), (MAX_ID, MAX_ID), (str(MAX_ID), MAX_ID)]
BAD: list[Any] = [-1, "-1", MAX_ID + 1, str(MAX_ID + 1), 1.0, True, "", "5 ", "05", "1e3", [], {}]


class Order(BaseModel):
    id: Id
    parent: Id | None = None
    related: list[Id] = []


@pytest.mark.parametrize(("given", "expected"), GOOD)
def test_pydantic_takes(given: Any, expected: int) -> None:
    order = Order(id=given)
    assert (type(order.id), order.id) == (int, expected)
    assert Order.model_validate_json(json.dumps({"id": given})).id == expected
    assert order.model_dump()["id"] == expected
    assert json.loads(order.model_dump_json()) == {"id": str(expected), "parent": None, "related": []}


@pytest.mark.parametrize("given", [*BAD, None])
def test_pydantic_refuses(given: Any) -> None:
    with pytest.raises(PydanticError) as raised:
        Order(id=given)
    assert raised.value.errors()[0]["loc"] == ("id",)
    with pytest.raises(PydanticError):
        Order.model_validate_json(json.dumps({"id": given}))


@pytest.mark.parametrize("mode", ["validation", "serialization"])
def test_the_json_schema_says_string_both_ways(mode: Any) -> None:
    schema = Order.model_json_schema(mode=mode)["properties"]
    assert schema["id"]["type"] == "string"
    assert {part["type"] for part in schema["parent"]["anyOf"]} == {"string", "null"}
    assert schema["related"]["items"]["type"] == "string"
    assert TypeAdapter(int).json_schema(mode=mode)["type"] == "integer"  # the control: what a plain int says


def test_ids_in_all_places_of_pydantic_models() -> None:
    order = Order(id=BIG, parent=BIG + 1, related=[BIG + 2])
    assert json.loads(order.model_dump_json()) == {"id": str(BIG), "parent": str(BIG + 1), "related": [str(BIG + 2)]}
    assert TypeAdapter(dict[Id, int]).dump_json({BIG: 1}) == b'{"%d":1}' % BIG


app = FastAPI()


@app.get("/orders/{order_id}")
def read(order_id: Id, after: Annotated[Id | None, Query()] = None) -> Order:
    return Order(id=order_id, parent=after)


@app.post("/orders")
def write(order: Order) -> Order:
    return order


async def test_fastapi_in_path_query_body_and_response() -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shop") as client:
        answer = await client.get(f"/orders/{BIG}", params={"after": str(BIG + 1)})
        assert answer.json() == {"id": str(BIG), "parent": str(BIG + 1), "related": []}
        for given in (BIG, str(BIG)):
            assert (await client.post("/orders", json={"id": given})).json()["id"] == str(BIG)
        for path in ("/orders/-1", "/orders/1.0", f"/orders/{MAX_ID + 1}", "/orders/5?after=x"):
            assert (await client.get(path)).status_code == 422
        assert (await client.post("/orders", json={"id": 1.5})).status_code == 422


def test_openapi_says_string() -> None:
    document = app.openapi()
    path, query = document["paths"]["/orders/{order_id}"]["get"]["parameters"]
    assert path["schema"]["type"] == "string"
    assert {part["type"] for part in query["schema"]["anyOf"]} == {"string", "null"}
    models = [schema for name, schema in document["components"]["schemas"].items() if name.startswith("Order")]
    assert models
    assert all(model["properties"]["id"]["type"] == "string" for model in models)


class Row(msgspec.Struct):
    id: for_msgspec.Id
    parent: for_msgspec.Id | None = None


@pytest.mark.parametrize(("given", "expected"), GOOD)
def test_msgspec_takes(given: Any, expected: int) -> None:
    row = msgspec.json.decode(json.dumps({"id": given}), type=Row, dec_hook=for_msgspec.decode_hook)
    assert isinstance(row.id, int)
    assert row.id == expected
    text = msgspec.json.encode(row, enc_hook=for_msgspec.encode_hook)
    assert json.loads(text) == {"id": str(expected), "parent": None}
    assert msgspec.json.decode(text, type=Row, dec_hook=for_msgspec.decode_hook) == row


@pytest.mark.parametrize("given", [*BAD, None])
def test_msgspec_refuses(given: Any) -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$\.id"):
        msgspec.json.decode(json.dumps({"id": given}), type=Row, dec_hook=for_msgspec.decode_hook)


def test_the_schema_and_other_types_of_msgspec() -> None:
    schema = msgspec.json.schema(Row, schema_hook=for_msgspec.schema_hook)
    assert schema["$defs"]["Row"]["properties"]["id"]["type"] == "string"
    for call in (lambda: for_msgspec.encode_hook(object()), lambda: for_msgspec.schema_hook(object)):
        with pytest.raises(NotImplementedError):
            call()
    with pytest.raises(NotImplementedError):
        for_msgspec.decode_hook(object, 5)


class OrderSchema(Schema):
    id = IdField(required=True)
    parent = IdField(allow_none=True)


@pytest.mark.parametrize(("given", "expected"), GOOD)
def test_marshmallow_takes(given: Any, expected: int) -> None:
    assert OrderSchema().load({"id": given, "parent": None}) == {"id": expected, "parent": None}
    assert OrderSchema().dumps({"id": expected, "parent": None}) == f'{{"id": "{expected}", "parent": null}}'


@pytest.mark.parametrize("given", [*BAD, None])
def test_marshmallow_refuses(given: Any) -> None:
    with pytest.raises(ValidationError) as raised:
        OrderSchema().load({"id": given})
    assert isinstance(raised.value.messages, dict)
    assert list(raised.value.messages) == ["id"]


@pytest.mark.parametrize(
    "sqids", [Sqids(), Sqids(alphabet="k3G7QAe51FCsPW92uEOyq4Bg6Sp8YzVTmnU0liwDdHXLajZrfxNhobJIRcMvKt", min_length=13)]
)
def test_sqids_there_and_back(sqids: Sqids) -> None:
    for number in (0, 1, BIG, MAX_ID):
        assert decode_sqid(encode_sqid(number, sqids), sqids) == number
    two = sqids.encode([1, 2])
    other_spelling = next(
        text for text in (a + b + c for a in "abcdefgh" for b in "abcdefgh" for c in "abcdefgh")
        if len(numbers := sqids.decode(text)) == 1 and sqids.encode(numbers) != text
    )  # fmt: skip
    for text in ("", "!", two, other_spelling):
        with pytest.raises(InvalidIdError):
            decode_sqid(text, sqids)


def test_no_adapter_is_imported_by_the_package() -> None:
    libraries = ["pydantic", "fastapi", "msgspec", "marshmallow", "django", "sqids", "sqlmodel"]
    code = f"import sys, shardflake, shardflake.sqlalchemy; print([name for name in {libraries} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
