"""The pages on fleets: the file that they show is read, and they name every metric and every finding."""

from __future__ import annotations

import re

from shardflake.fleet import metrics
from shardflake.fleet.file import parse
from tests.docs.test_pages import ROOT, blocks

PAGE = (ROOT / "docs" / "fleet.md").read_text()
MONITORING = (ROOT / "docs" / "fleet-monitoring.md").read_text()


def test_the_file_of_the_page_is_read() -> None:
    fleet = parse(blocks(PAGE, "toml")[0])
    assert [(shard.name, shard.shard_id, len(shard.logical_shards)) for shard in fleet.shards] == [
        ("orders-0", 0, 101),
        ("orders-1", 1, 0),
    ]


def test_every_metric_has_a_row_and_the_rules_use_no_other() -> None:
    names = {f"shardflake_{name}" for name, _ in metrics._METRICS}
    assert set(re.findall(r"^\| `(\w+)` \|", MONITORING, re.MULTILINE)) == names
    rules = (ROOT / "docs" / "fleet-alerts.yml").read_text()
    used = set(re.findall(r"\bshardflake_\w+", rules))
    assert used <= names
    assert names - used == {"shardflake_logical_shards"}


def test_every_kind_of_finding_has_a_row() -> None:
    source = (ROOT / "src" / "shardflake" / "fleet" / "check.py").read_text()
    kinds = set(re.findall(r'Finding\(\s*(?:shard|entry)\.name,\s*"([\w ]+)"', source)) | {
        "unreachable",
        "unsupported",
        "failed",
    }
    queries = (ROOT / "src" / "shardflake" / "fleet" / "columns.sql").read_text()
    columns = set(re.findall(r"^select '([\w ]+)'(?: as kind)?, ", queries, re.MULTILINE)) | {"no default"}
    assert len(kinds) > 10
    for kind in kinds | {f"column: {kind}" for kind in columns}:
        assert f"`{kind}`" in PAGE, kind
