"""The benchmark of the codecs, with few ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardflake.bench.codecs import main


def test_it_prints_a_row_for_each_figure_and_writes_them_into_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- codecs -->\nold\n<!-- /codecs -->\nafter\n")
    assert main(["--scalars", "50", "--array", "50", "--page", str(page)]) == 0
    printed = capsys.readouterr().out
    assert printed.count("| `unpack` | ") == 6
    assert "Measured on one core by `python -m shardflake.bench.codecs`: Python" in printed
    assert page.read_text() == f"before\n<!-- codecs -->\n{printed}<!-- /codecs -->\nafter\n"


def test_a_page_without_marks_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing")
    with pytest.raises(SystemExit):
        main(["--scalars", "5", "--array", "5", "--page", str(page)])
    assert "has no marks" in capsys.readouterr().err
