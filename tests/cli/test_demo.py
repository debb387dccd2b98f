"""The demo as its users run it, and as it must not be: with ids that repeat, and interrupted."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner

import shardflake.demo
from shardflake.cli import app
from shardflake.demo.load import INSTAGRAM, IdColumn

SUMMARY = (
    "bigserial: order numbers given out again",
    "Instagram's function: duplicate ids",
    "shardflake: duplicate ids",
    "shardflake: objects with a wrong key",
    "order found by its id",
    "feed over four shards",
    "index: bigserial",
    "index: shardflake",
    "index: uuidv7()",
    "index: gen_random_uuid()",
)


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory for temporary files that the server's user may enter; it must be empty in the end, and no server in it."""
    directory = Path(tempfile.mkdtemp(prefix="sf-demo-", dir=os.environ.get("TMPDIR")))
    directory.chmod(0o755)
    monkeypatch.setenv("TMPDIR", str(directory))
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    yield directory
    left = list(directory.iterdir())
    shutil.rmtree(directory)
    assert left == []
    processes = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(directory) not in processes


def start(*arguments: str) -> subprocess.Popen[str]:
    """Start the demo in a process group of its own, as a shell does."""
    program = [sys.executable, "-c", "from shardflake.cli import main; main()", "demo", *arguments]
    return subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, start_new_session=True
    )


def read_until(process: subprocess.Popen[str], text: str) -> str:
    """Read the demo's output up to the line that contains a text, and return that line."""
    assert process.stdout is not None
    for line in process.stdout:
        if text in line:
            return line
    pytest.fail(f"the demo ended before it printed {text!r}")


def summary(output: str) -> dict[str, float]:
    """Return the values of the summary by their names."""
    found = {}
    for name in SUMMARY:
        row = re.search(rf"^  {re.escape(name)} +([\d,.]+)  ", output, re.MULTILINE)
        assert row, f"no row {name!r} in the summary"
        found[name] = float(row[1].replace(",", ""))
    return found


@pytest.mark.usefixtures("temporary")
def test_shows_duplicates_of_instagram_and_none_of_shardflake() -> None:
    process = start("--rows", "40000")
    output, errors = process.communicate(timeout=120)

    assert (process.returncode, errors) == (0, "")
    assert max(map(len, output.splitlines())) <= 100
    values = summary(output)
    assert values["Instagram's function: duplicate ids"] > 0
    assert values["shardflake: duplicate ids"] == 0
    assert values["shardflake: objects with a wrong key"] == 0
    assert values["bigserial: order numbers given out again"] > 0
    assert values["order found by its id"] == 1
    assert values["feed over four shards"] == 4
    assert values["index: shardflake"] < values["index: uuidv7()"]
    assert values["index: shardflake"] < values["index: gen_random_uuid()"]
    duplicates = int(values["Instagram's function: duplicate ids"])
    assert f"PASS  duplicate ids: Instagram's function {duplicates}, shardflake 0" in output


@pytest.mark.usefixtures("temporary")
def test_fails_if_the_ids_called_shardflake_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same checks, on the same load, with Instagram's function in shardflake's place."""
    column = IdColumn("shardflake", "scans", INSTAGRAM.definition)
    monkeypatch.setattr(shardflake.demo, "run", partial(shardflake.demo.run, column=column))

    result = CliRunner().invoke(app, ["demo"])

    assert result.exit_code == 1, result.output
    duplicates = int(summary(result.output)["shardflake: duplicate ids"])
    assert duplicates > 0
    assert f"shardflake gave out {duplicates} ids again." in result.output
    assert "FAIL" in result.output
    assert "PASS" not in result.output


@pytest.mark.usefixtures("temporary")
@pytest.mark.parametrize(
    ("moment", "number"),
    [
        ("shardflake demo", signal.SIGINT),
        ("shardflake demo", signal.SIGHUP),
        ("3  shardflake", signal.SIGINT),
        ("7  What a key costs", signal.SIGTERM),
    ],
)
def test_leaves_nothing_running_when_interrupted(moment: str, number: signal.Signals) -> None:
    process = start("--rows", "100000")
    read_until(process, moment)
    os.killpg(process.pid, number)
    os.killpg(process.pid, number)  # people press it twice
    output, errors = process.communicate(timeout=60)

    assert (process.returncode, errors) == (130, "")
    assert "Summary" not in output


@pytest.mark.usefixtures("temporary")
def test_keeps_the_server_until_interrupted() -> None:
    process = start("--rows", "40000", "--keep")
    url = read_until(process, "psql ").split()[1]
    with psycopg.connect(url) as connection:
        row = connection.execute("select shardflake.shard_of(shardflake.next_id()), (select count(*) from orders)").fetchone()
    read_until(process, "from orders")
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)

    assert (process.returncode, errors) == (0, "")
    assert row is not None
    assert row[0] == 1
    assert row[1] > 0


def test_refuses_too_few_rows() -> None:
    result = CliRunner().invoke(app, ["demo", "--rows", "7999"])
    assert result.exit_code == 2
    assert "8000" in result.output
