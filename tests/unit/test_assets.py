"""Finding the SQL files, splitting and pinning them."""

from __future__ import annotations

import pytest

from shardflake import assets
from shardflake.errors import InstallationError


def test_every_sql_file_of_the_functions_is_in_the_manifest_once() -> None:
    files = sorted(f"functions/{path.name}" for path in (assets.sql_dir() / "functions").glob("*.sql"))
    assert sorted(name for name in assets.manifest() if name.startswith("functions/")) == files


@pytest.mark.parametrize("name", ["schema.sql", "drop.sql", "drop_schema.sql", "version.sql", *assets.manifest()])
def test_a_blank_line_ends_every_statement_and_nothing_else(name: str) -> None:
    for statement in assets.statements(assets.read(name)):
        assert statement.endswith(";"), statement
        assert statement.count("$$") in (0, 2), statement


def test_comments_that_stand_alone_are_no_statements() -> None:
    assert assets.statements("-- a\n\nselect 1;\n\n-- b\nselect 2;\n") == ["select 1;", "select 2;"]


def test_a_pinned_file_that_was_edited_is_refused() -> None:
    text = assets.read("schema.sql")
    assert assets.pinned("schema.sql", assets.fingerprint(text), "0001") == text
    with pytest.raises(InstallationError, match=r"schema\.sql has the fingerprint 000000000000"):
        assets.pinned("schema.sql", "0" * 12, "0001")
