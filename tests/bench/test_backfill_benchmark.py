"""The benchmark of imports, with few rows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shardflake.bench.backfill import main


def test_it_prints_a_ratio_for_each_kind_and_writes_the_table_into_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- backfill -->\nold\n<!-- /backfill -->\nafter\n")
    assert main(["--rows", "400", "--rounds", "2", "--page", str(page)]) == 0
    printed = capsys.readouterr().out
    assert len(re.findall(r"^\| `(?:backfill_ids|next_id)\(\)`.* \| [0-9,]+ \| [0-9.]+ \(", printed, re.MULTILINE)) == 2
    assert re.search(r"^\| `bigserial` \| [0-9,]+ \| 1 \|$", printed, re.MULTILINE)
    assert page.read_text() == f"before\n<!-- backfill -->\n{printed}<!-- /backfill -->\nafter\n"
