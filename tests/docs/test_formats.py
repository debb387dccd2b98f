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
    rows = re.findall(r"^\| `(\w+(?:\.\w+)?)` \| shardflake \| ([\d.]+) \|$", PAGE.read_text(), re.MULTILINE)
    figures = {name: float(millions) for name, millions in rows}
    assert figures["pack"] >= 2
    assert figures["unpack"] >= 2
    assert figures["arrays.encode"] >= 100
    assert figures["arrays.decode"] >= 100
