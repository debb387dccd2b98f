"""No SECURITY DEFINER body uses a name or an operator that its caller could put something else behind."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pglast
import psycopg
import pytest

from shardflake import assets

PROTECTION = "set search_path = pg_catalog, pg_temp"
DEFINERS = [name for name in assets.manifest() if "security definer" in assets.read(name)]


def queries(function: str) -> Iterator[str]:
    """Yield every SQL text inside a PL/pgSQL function: queries as they are, expressions as a SELECT."""
    tree = json.dumps(pglast.parse_plpgsql(function))
    for text in re.findall(r'"query": ("(?:[^"\\]|\\.)*")', tree):
        query = str(json.loads(text))
        query = query.split(":=", 1)[1] if re.match(r"\w+ := ", query) else query
        starts_alone = re.match(r"(?i)\s*(select|insert|update|delete|with|lock|truncate|create)\b", query)
        yield query if starts_alone else f"SELECT {query}"


def nodes(tree: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every node of a parse tree with its kind."""
    if isinstance(tree, list):
        for item in tree:
            yield from nodes(item)
    elif isinstance(tree, dict):
        for kind, value in tree.items():
            if isinstance(value, dict):
                yield kind, value
            yield from nodes(value)


def name_parts(strings: list[dict[str, Any]]) -> list[str]:
    return [item["String"]["sval"] for item in strings]


def unprotected_names(function: str) -> set[str]:
    """Return the functions, operators and tables of a body that the caller's search path would decide about.

    With the protection only what is no part of pg_catalog is left; without it, everything that has no schema.
    """
    found: set[str] = set()
    for query in queries(function):
        tree = json.loads(pglast.parser.parse_sql_json(query))
        for kind, node in nodes(tree):
            parts: list[str] = []
            if kind == "FuncCall":
                parts = name_parts(node["funcname"])
            elif kind == "A_Expr":
                parts = name_parts(node["name"])
            elif kind == "RangeVar":
                parts = [part for part in (node.get("schemaname"), node["relname"]) if part]
            if len(parts) == 1:
                found.add(parts[0])
    return found


def test_there_are_definer_functions_to_look_at() -> None:
    assert {
        "functions/_open_window.sql",
        "functions/status.sql",
        "functions/claim_worker.sql",
        "functions/feed_horizon.sql",
        "functions/backfill_ids.sql",
    } <= set(DEFINERS)


@pytest.mark.parametrize("name", DEFINERS)
def test_definer_bodies_are_protected_and_name_only_the_catalog(name: str, connection: psycopg.Connection) -> None:
    function = assets.statements(assets.read(name))[0]
    assert PROTECTION in function
    unqualified = unprotected_names(function)
    query = (
        "select proname from pg_proc where pronamespace = 'pg_catalog'::regnamespace union "
        "select oprname from pg_operator where oprnamespace = 'pg_catalog'::regnamespace union "
        "select relname from pg_class where relnamespace = 'pg_catalog'::regnamespace"
    )
    of_the_catalog = {row[0] for row in connection.execute(query)} | {"BETWEEN", "NOT BETWEEN"}
    assert list(queries(function))
    assert unqualified <= of_the_catalog


def test_a_body_that_is_not_protected_is_found() -> None:
    """The control: names and operators without a schema are seen, in expressions, queries and assignments."""
    body = """
    create function f(p bigint) returns bigint language plpgsql security definer as $$
    declare
      v bigint := my_start(p);
    begin
      v := v >> 23;
      perform my_call(v) from my_table;
      return pg_catalog.abs(v);
    end $$;
    """
    assert PROTECTION not in body
    assert unprotected_names(body) == {"my_start", ">>", "my_call", "my_table"}
