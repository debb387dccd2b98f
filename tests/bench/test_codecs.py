"""The benchmark of the codecs, with few ids."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shardflake.bench.codecs import main
from shardflake.layout import PRESETS


def test_it_prints_every_figure_and_writes_them_into_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- codecs -->\nold\n<!-- /codecs -->\nafter\n")
    assert main(["--scalars", "50", "--array", "50", "--page", str(page)]) == 0
    printed = capsys.readouterr().out
    assert "| `decode` | `encode` | `unpack` | `pack` | `arrays.decode` | `arrays.encode` |" in printed
    for layout in PRESETS:
        assert re.search(rf"^\| `{layout}` \|( [0-9.]+ \|){{6}}$", printed, re.MULTILINE)
    assert re.search(r"^\| `ulid.parse` \| ulid \| [0-9.]+ \|$", printed, re.MULTILINE)
    assert "Measured on one core by `python -m shardflake.bench.codecs`: Python" in printed
    assert page.read_text() == f"before\n<!-- codecs -->\n{printed}<!-- /codecs -->\nafter\n"


def test_a_page_without_marks_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing")
    with pytest.raises(SystemExit):
        main(["--scalars", "5", "--array", "5", "--page", str(page)])
    assert "has no marks" in capsys.readouterr().err
