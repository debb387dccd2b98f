"""The snippets of the pages on pools, workers and tickets run, in the order of the page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from tests.conftest import dsn
from tests.docs.test_pages import ROOT, blocks
from tests.orm.conftest import driver_url

URL = "postgresql+psycopg://localhost/shop"


@pytest.mark.parametrize(
    ("page", "printed"),
    [("pools.md", "True 5000\nTrue\n"), ("workers.md", "True 7168\n"), ("tickets.md", "1 2\n")],
)
def test_the_snippets_run(page: str, printed: str, shard: sa.Engine, tmp_path: Path) -> None:
    text = (ROOT / "docs" / page).read_text()
    with psycopg.connect(dsn(shard), autocommit=True) as connection:
        connection.execute("create role app")
        try:
            for block in blocks(text, "sql"):
                connection.execute(block)
            script = tmp_path / "snippet.py"
            code = "\n".join(blocks(text, "python"))
            assert URL in code
            script.write_text(code.replace(URL, driver_url(shard, "psycopg").render_as_string(hide_password=False)))
            done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
            assert (done.stdout, done.stderr) == (printed, "")
        finally:
            connection.execute("drop owned by app")
            connection.execute("drop role app")


@pytest.mark.parametrize("page", ["pools.md", "workers.md", "tickets.md"])
def test_the_tests_that_promises_name_exist(page: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    named = {part for part in text.replace("`", " ").split() if part.startswith("tests/")}
    assert named
    for name in named:
        assert (ROOT / name).is_file(), name
