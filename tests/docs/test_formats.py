"""docs/formats.md says what the code computes, and its snippet runs."""

from __future__ import annotations

import re
import subprocess
import sys

import psycopg
import sqlalchemy as sa

from tests.conftest import dsn
from tests.docs.formats import PAGE, with_tables
from tests.docs.test_pages import blocks


def test_the_tables_are_what_the_code_computes() -> None:
    page = PAGE.read_text()
    assert with_tables(page) == page, "run: python -m tests.docs.formats"
    assert with_tables(page.replace("2059-11-04", "2094-09-07")) == page, "a wrong day went unseen"


def test_the_snippet_runs() -> None:
    (snippet,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    subprocess.run([sys.executable, "-c", snippet], check=True)


def test_the_sql_runs_and_finds_what_was_made(shard: sa.Engine) -> None:
    tables, query = blocks(PAGE.read_text(), "sql")
    with psycopg.connect(dsn(shard), autocommit=True) as connection:
        connection.execute(tables.encode())
        connection.execute("insert into event (what) values ('a'), ('b'); insert into message (what) values ('c')")
        connection.execute("select pg_sleep(0.002)")  # bounds are rounded down to the millisecond
        assert [what for _, what in connection.execute(query.encode())] == ["a", "b"]


def test_the_speed_was_measured() -> None:
    page = PAGE.read_text()
    names, shardflake = (
        [cell.strip(" `") for cell in re.search(line, page, re.MULTILINE)[0].strip("|").split("|")]  # type: ignore[index]
        for line in (r"^\| layout, millions a second \|.*$", r"^\| `shardflake` \|( [\d.]+ \|)+$")
    )
    figures = dict(zip(names[1:], map(float, shardflake[1:]), strict=True))
    assert all(figures[name] >= 2 for name in ("encode", "decode", "pack", "unpack"))
    assert all(figures[name] >= 100 for name in ("arrays.encode", "arrays.decode"))
