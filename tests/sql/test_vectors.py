"""The layouts in SQL against the vectors that Python's tests read too."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from shardflake import PRESETS

VALID: dict[str, list[dict[str, Any]]] = json.loads((Path(__file__).parents[1] / "vectors.json").read_text())["valid"]


@pytest.mark.parametrize("name", PRESETS)
def test_sql_reads_the_vectors_of_every_layout(connection: psycopg.Connection, name: str) -> None:
    decode = "select time, shard, counter from shardflake.decode(%s::bigint, %s)"
    bounds = "select shardflake.min_id(%s, %s), shardflake.max_id(%s, %s)"
    for row in VALID[name]:
        time, value = datetime.fromisoformat(row["time"]), int(row["id"])
        assert connection.execute(decode, (value, name)).fetchone() == (time, row["shard"], row["counter"]), row
        expected = PRESETS[name].min_id(time), PRESETS[name].max_id(time)
        assert connection.execute(bounds, (time, name, time, name)).fetchone() == expected, row
        assert expected[0] <= value <= expected[1]


def test_a_vector_of_one_layout_is_another_id_in_the_next(connection: psycopg.Connection) -> None:
    row = VALID["twitter"][0]
    found = connection.execute("select time from shardflake.decode(%s::bigint, 'discord')", (int(row["id"]),)).fetchone()
    assert found != (datetime.fromisoformat(row["time"]),)
