"""The README and the pages: transcripts and snippets run, links lead somewhere, tables say what the code says."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from shardflake import errors
from shardflake.server import LocalServer
from tests.conftest import Server, dsn

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
README = (ROOT / "README.md").read_text()


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def statements_and_outputs(transcript: str) -> Iterator[tuple[str, str]]:
    """Split a psql transcript into what was typed and what was answered."""
    for part in re.split(r"^=> ", transcript, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        typed = 1 + next(number for number, line in enumerate(lines) if line.endswith(";"))
        statement = "\n".join(line.removeprefix("-> ") for line in lines[:typed])
        yield statement, "\n".join(line.rstrip() for line in lines[typed:]).strip()


def without_new_ids(output: str) -> str:
    """Leave out ids that stand alone on their line: they are new in every run."""
    return re.sub(r"^ \d{18}$", " <id>", output, flags=re.MULTILINE)


def test_the_transcript_of_the_readme_is_what_psql_prints(shard: sa.Engine, server: Server, local_server: LocalServer) -> None:
    if server is not local_server:
        pytest.skip("needs the server's own psql")
    environment = {"PGTZ": "UTC", "PGOPTIONS": "-c jit=off"}
    for statement, expected in statements_and_outputs(blocks(README, "psql")[0]):
        command = [str(local_server.bin_dir / "psql"), "-X", "-d", dsn(shard), "-c", statement]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        output = "\n".join(line.rstrip() for line in done.stdout.splitlines() if not line.startswith("INSERT 0")).strip()
        assert without_new_ids(output) == without_new_ids(expected)


def test_the_snippet_of_the_readme_runs(shard: sa.Engine, tmp_path: Path) -> None:
    snippet = blocks(README, "python")[0]
    url = "postgresql+psycopg://localhost/shop"
    assert url in snippet
    with psycopg.connect(dsn(shard)) as connection:
        info = connection.info
        real = sa.URL.create("postgresql+psycopg", info.user, info.password or None, info.host, info.port, info.dbname)
    script = tmp_path / "snippet.py"
    script.write_text(snippet.replace(url, real.render_as_string(hide_password=False)))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("1000 orders in the last hour\n", "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{page.name} links to {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", linked.read_text(), re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in slugs, f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_speak_of_the_project_alone(page: Path) -> None:
    assert not re.search(r"/work\b|/tmp/|\.\./shared|issue \d|#\d+\b", page.read_text())


def test_every_public_function_and_error_stands_in_the_sql_reference(connection: psycopg.Connection) -> None:
    page = (ROOT / "docs" / "sql.md").read_text()
    query = "select distinct proname from pg_proc where pronamespace = 'shardflake'::regnamespace and proname not like '\\_%'"
    for (name,) in connection.execute(query):
        assert f"`{name}(" in page, name
    table = dict(re.findall(r"^\| (SF\d{3}) \|.*\| `(\w+)` \|$", page, re.MULTILINE))
    assert table == {code: kind.__name__ for code, kind in errors.SQLSTATES.items()}
