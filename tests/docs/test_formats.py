"""docs/formats.md says what the code computes, and its snippet runs."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.docs.formats import PAGE, with_tables


def test_the_tables_are_what_the_code_computes() -> None:
    page = PAGE.read_text()
    assert with_tables(page) == page, "run: python -m tests.docs.formats"
    assert with_tables(page.replace("2059-11-04", "2094-09-07")) == page, "a wrong day went unseen"


def test_the_snippet_runs() -> None:
    (snippet,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    subprocess.run([sys.executable, "-c", snippet], check=True)


def test_the_speed_was_measured() -> None:
    page = PAGE.read_text()
    names, shardflake = (
        [cell.strip(" `") for cell in re.search(line, page, re.MULTILINE)[0].strip("|").split("|")]  # type: ignore[index]
        for line in (r"^\| layout, millions a second \|.*$", r"^\| `shardflake` \|( [\d.]+ \|)+$")
    )
    figures = dict(zip(names[1:], map(float, shardflake[1:]), strict=True))
    assert all(figures[name] >= 2 for name in ("encode", "decode", "pack", "unpack"))
    assert all(figures[name] >= 100 for name in ("arrays.encode", "arrays.decode"))
