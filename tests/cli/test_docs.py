"""docs/cli.md names every command, and prints what the commands print."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from shardflake.server import embedded_bin_dir
from tests.cli.conftest import Run
from tests.conftest import dsn
from tests.docs.options import PAGE, commands, with_options

VARYING = [
    (r"\d{4}-\d\d-\d\d[ T][\d:.]{12}(?= UTC|Z)", "TIME"),
    (r"(?<=largest id is )\d+", "ID"),
    (r"\((?:in \d+ m?s|\d+ m?s ago)\)", "(AGE)"),
    (r"(?<=  )\d+ (?:days|years) ago", "AGE"),
    (r'(?<="age_ms": )-?\d+', "AGE"),
    (r'(?<="years_left": )[\d.]+|[\d.]+(?= years)', "YEARS"),
    (r'(?<="lead_ms": )\d+|(?<=clock  │ )\d+(?= ms)', "LEAD"),
    (r" +│$", " │"),
    (r"─+", "─"),
]
"""What may differ between two runs, and what stands for it in the comparison."""


def play(page: str, environment: dict[str, str], directory: Path) -> str:
    """Return the page with the output of its console blocks as it comes out now."""

    def play_block(block: re.Match[str]) -> str:
        lines = []
        for command in re.findall(r"^\$ .*", block[0], re.MULTILINE):
            done = subprocess.run(  # not checked: some examples are of errors
                ["bash", "-c", command[2:]],
                cwd=directory,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            lines += [command, *done.stdout.splitlines()]
        return "\n".join(["```console", *lines, "```"])

    return re.sub(r"^```console\n.*?^```$", play_block, page, flags=re.MULTILINE | re.DOTALL)


def compared(page: str) -> list[str]:
    """Return the lines of the page with what may differ replaced."""
    for pattern, word in VARYING:
        page = re.sub(pattern, word, page, flags=re.MULTILINE)
    return page.splitlines()


@pytest.mark.parametrize(("words", "command"), list(commands()), ids=lambda value: value if isinstance(value, str) else "")
def test_every_command_has_help_and_a_row_in_the_docs(run: Run, words: str, command: Any) -> None:
    summary = command.help.splitlines()[0]
    assert re.search(rf"^\| \[?`shardflake {words}`.* \| {re.escape(summary)} \|$", PAGE.read_text(), re.MULTILINE)
    text = " ".join(run(*words.split(), "--help").stdout.split())
    assert summary in text
    for parameter in command.params:
        assert parameter.help, f"{parameter.name} of {words} has no help"


def test_the_table_of_options_is_what_the_commands_take() -> None:
    page = PAGE.read_text()
    assert with_options(page) == page, "run: python -m tests.docs.options"
    for option in ("`db upgrade` | `--layout NAME`", "`db assign` | `--layout NAME`"):
        assert option in page
    assert with_options(page.replace("--layout", "--lay-out")) != page.replace("--layout", "--lay-out"), (
        "a wrong option went unseen"
    )


def test_the_examples_print_what_the_page_says(database: sa.Engine, tmp_path: Path) -> None:
    page = PAGE.read_text()
    environment = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), *psql_directory(), os.environ["PATH"]]),
        "SHARDFLAKE_URL": dsn(database),
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
    }
    try:
        assert compared(play(page, environment, tmp_path)) == compared(page)
    finally:
        with psycopg.connect(dsn(database), autocommit=True) as connection:
            connection.execute("drop owned by app_writer cascade")
            connection.execute("drop role app_writer")


def test_the_comparison_finds_a_wrong_word(tmp_path: Path) -> None:
    page = "```console\n$ echo 12 days\n13 days\n```\n"
    assert compared(play(page, {"PATH": os.environ["PATH"]}, tmp_path)) != compared(page)


def psql_directory() -> list[str]:
    """Return where the embedded server's psql is, if no other is on the path."""
    return [] if shutil.which("psql") else [str(embedded_bin_dir())]
