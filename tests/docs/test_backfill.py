"""docs/backfill.md: everything in it runs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import sqlalchemy as sa

from shardflake.fleet.file import parse
from tests.conftest import dsn
from tests.docs.test_lease_pages import URL
from tests.docs.test_pages import ROOT, blocks
from tests.orm.conftest import driver_url

PAGE = (ROOT / "docs" / "backfill.md").read_text()
OLD = """
create table old_orders (id integer primary key, created_at timestamptz, item text);
insert into old_orders
  select n, '2009-01-01 12:00+00'::timestamptz + n / 2000 * interval '1 day', 'x' from generate_series(1, 25000) n;
"""


def test_the_snippets_run(make_database: Callable[..., sa.Engine], installed_template: str, tmp_path: Path) -> None:
    engine = make_database(installed_template)
    with psycopg.connect(dsn(engine), autocommit=True) as connection:
        connection.execute(OLD)
        for block in blocks(PAGE, "sql"):
            connection.execute(block.encode())
        query = """
            select count(*), min(shardflake.timestamp_of(n.id))::text, max(shardflake.timestamp_of(n.id) - created_at)::text
              from orders n join old_orders o on o.id = n.old_id
        """
        connection.execute("set timezone = 'UTC'")
        assert connection.execute(query).fetchone() == (25_000, "2009-01-01 12:00:00+00", "00:00:00.001")
    script = tmp_path / "snippet.py"
    (code,) = blocks(PAGE, "python")
    assert URL in code
    script.write_text(code.replace(URL, driver_url(engine, "psycopg").render_as_string(hide_password=False)))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("['2015-03-01', '2015-03-02']\n", "")


def test_the_fleets_file_is_read_and_the_tests_named_exist() -> None:
    (text,) = blocks(PAGE, "toml")
    assert parse(text).shards[0].backfill_shards == (900, 901)
    named = {part for part in PAGE.replace("`", " ").split() if part.startswith("tests/")}
    assert len(named) == 2
    for name in named:
        assert (ROOT / name.rstrip(";")).is_file(), name
