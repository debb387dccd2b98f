"""Every kind of id against the vectors that SQL's tests read too."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from shardflake import PRESETS, InvalidIdError, ulid, uuids
from shardflake.cli.input import kind_of
from shardflake.kinds import KINDS, LAYOUT_KINDS
from shardflake.texts import TextForm, parse, render

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors.json").read_text())
VALID: dict[str, list[dict[str, Any]]] = VECTORS["valid"]


def rows(*kinds: str) -> list[Any]:
    return [pytest.param(kind, row, id=f"{kind} {row.get('id') or row['text']}") for kind in kinds for row in VALID[kind]]


def test_there_are_ten_vectors_at_least_for_each_kind_and_all_name_their_source() -> None:
    assert VALID.keys() == KINDS.keys()
    for kind, found in VALID.items():
        assert len(found) >= 10, kind
        assert len({row.get("id") or row["text"] for row in found}) == len(found), kind
        assert all(row["source"] for row in found)


@pytest.mark.parametrize(("name", "row"), rows(*PRESETS))
def test_a_layout_reads_and_makes_its_vectors(name: str, row: dict[str, Any]) -> None:
    layout, value = PRESETS[name], int(row["id"])
    fields = {"time": int(row["tick"]), "shard": row["shard"], "counter": row["counter"]}
    assert layout.decode(value) == fields
    assert layout.encode(**fields) == value
    assert layout.pack(*(fields[field] for field in layout.names)) == value
    time = datetime.fromisoformat(row["time"])
    assert layout.time_of_tick(fields["time"]) == time
    assert layout.tick_of(time) == fields["time"]
    assert layout.min_id(time) <= value <= layout.max_id(time)
    parts = layout.decode_parts(value)
    assert {part: row[part] for part in parts if part != "time"} == {part: parts[part] for part in parts if part != "time"}
    assert layout.encode(**parts) == value
    kind = next(kind for kind in LAYOUT_KINDS if kind.name == name)
    assert kind.decode(value) == parts
    assert kind.unix_ms(value) == row["unix_ms"]


@pytest.mark.parametrize("row", VECTORS["ranges"]["uuidv7"], ids=lambda row: row["start"])
def test_ranges_of_uuids_of_version_7(row: dict[str, str]) -> None:
    start, end = map(datetime.fromisoformat, (row["start"], row["end"]))
    assert uuids.time_range_v7(start, end) == (UUID(row["low"]), UUID(row["high"]))


@pytest.mark.parametrize(("_", "row"), rows("ulid"))
def test_ulids(_: str, row: dict[str, Any]) -> None:
    parts = ulid.decode(row["text"])
    assert parts == ulid.UlidParts(row["unix_ms"], int(row["random"]))
    assert ulid.make(parts.unix_ms, parts.random) == row["text"]
    assert ulid.render(int(row["number"])) == row["text"]
    assert kind_of("ulid", None, None).decode(ulid.parse(row["text"])) == {"time": parts.unix_ms, "random": parts.random}


@pytest.mark.parametrize(("_", "row"), rows("uuidv7"))
def test_uuids_of_version_7(_: str, row: dict[str, Any]) -> None:
    parts = uuids.decode_v7(row["text"])
    assert parts == uuids.Uuid7Parts(row["unix_ms"], row["rand_a"], int(row["rand_b"]))
    assert str(uuids.make_v7(parts.unix_ms, parts.rand_a, parts.rand_b)) == row["text"]
    assert uuids.decode_v7(row["text"].upper()) == parts
    fields = KINDS["uuidv7"].decode(parse(row["text"])[1])
    assert fields == {"time": parts.unix_ms, "version": 7, "rand_a": parts.rand_a, "variant": 2, "rand_b": parts.rand_b}


@pytest.mark.parametrize(("_", "row"), rows("uuidv4"))
def test_uuids_of_version_4_are_recognised(_: str, row: dict[str, Any]) -> None:
    assert uuids.version_of(uuids.parse(row["text"])) == 4
    value = parse(row["text"])[1]
    fields = KINDS["uuidv4"].decode(value)
    assert KINDS["uuidv4"].encode({name: number for name, number in fields.items() if name.startswith("random")}) == value


@pytest.mark.parametrize("row", VECTORS["invalid"]["ulid"], ids=lambda row: row["source"])
def test_bad_ulids_are_refused_by_value_and_rule(row: dict[str, str]) -> None:
    with pytest.raises(InvalidIdError) as error:
        ulid.parse(row["text"])
    assert row["rule"] in str(error.value)
    assert repr(row["text"]) in str(error.value)


@pytest.mark.parametrize("row", VECTORS["invalid"]["uuidv7"], ids=lambda row: row["source"])
def test_bad_uuids_are_refused_by_value_and_rule(row: dict[str, str]) -> None:
    with pytest.raises(InvalidIdError) as error:
        uuids.decode_v7(row["text"])
    assert row["rule"] in str(error.value)
    assert row["text"] in str(error.value)


@pytest.mark.parametrize("form", TextForm)
def test_every_form_writes_a_number_and_reads_it_again(form: TextForm) -> None:
    for value in (0, 1, 31, 32, 2**53 - 1, 2**53, 399608120327803946, 2**63 - 1):
        assert parse(render(value, form), form) == (form, value)
        if form is not TextForm.BASE32:
            assert parse(render(value, form))[0] in (form, TextForm.DECIMAL)


def test_base32_sorts_as_the_numbers_do() -> None:
    values = sorted({0, 2**63 - 1, *(int(row["id"]) for name in PRESETS for row in VALID[name])})
    assert sorted(render(value, TextForm.BASE32) for value in values) == [render(value, TextForm.BASE32) for value in values]
