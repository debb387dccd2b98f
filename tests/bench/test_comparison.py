"""``shardflake bench compare``: what is claimed, what is refused, and how it looks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from shardflake.bench.comparison import changes, check_comparable
from shardflake.bench.storage import read
from shardflake.cli import app
from shardflake.errors import ResultsError
from tests.bench.synthetic import header, records, write


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["bench", "compare", *words])


def with_changes(seed: int, factor: float = 1.1) -> Iterator[dict[str, Any]]:
    """Yield a run in which shardflake's index and its bulk rate are multiplied."""
    for record in records(blocks=8, seed=seed):
        if record["kind"] == "sample" and record["contender"] == "shardflake" and record["workload"] == "bulk":
            record["value"] *= factor if record["metric"] in ("index_bytes_per_row", "rows_per_second") else 1
        yield record


@pytest.fixture
def before(tmp_path: Path) -> Path:
    return write(tmp_path / "before", records(blocks=8, seed=1))


def test_what_changed_is_found_and_nothing_else(before: Path, tmp_path: Path) -> None:
    after = write(tmp_path / "after", with_changes(2))
    claimed = {(each.key.contender, each.key.metric): each for each in changes(read(before), read(after)) if each.claimed}
    assert claimed.keys() == {("shardflake", "index_bytes_per_row"), ("shardflake", "rows_per_second")}
    assert all(each.relative for each in claimed.values())
    assert claimed["shardflake", "index_bytes_per_row"].text == "1.100"


@pytest.mark.parametrize("seed", range(2, 6))
def test_two_runs_of_one_thing_differ_in_nothing(before: Path, tmp_path: Path, seed: int) -> None:
    after = write(tmp_path / "after", records(blocks=8, seed=seed))
    found = list(changes(read(before), read(after)))
    assert len(found) > 300
    assert not [each.key for each in found if each.claimed]
    assert {each.text for each in found} == {"~"}


def test_a_machine_that_is_faster_as_a_whole_changes_no_ratio(before: Path, tmp_path: Path) -> None:
    def faster() -> Iterator[dict[str, Any]]:
        for record in records(blocks=8, seed=3):
            if record.get("metric") == "rows_per_second":
                record["value"] *= 3
            yield record

    after = write(tmp_path / "after", faster())
    claimed = {each.key.contender for each in changes(read(before), read(after)) if each.claimed}
    assert claimed == {"bigserial"}


def test_different_machines_are_refused_unless_asked_for(before: Path, tmp_path: Path) -> None:
    lines = list(records())
    after = write(tmp_path / "after", [header("another cpu"), *lines[1:]])
    with pytest.raises(ResultsError, match="cpu 'synthetic' and 'another cpu'"):
        check_comparable(read(before), read(after))
    refused = run(str(before), str(after))
    assert refused.exit_code == 2
    assert "--across-machines" in refused.output
    allowed = run(str(before), str(after), "--across-machines")
    assert allowed.exit_code == 0
    assert "Different machines" in allowed.output


def test_differences_of_servers_are_told(before: Path, tmp_path: Path) -> None:
    lines = list(records())
    server = header()["server"] | {"settings": header()["server"]["settings"] | {"fsync": "on"}}
    after = write(tmp_path / "after", [header(server=server, seed=9), *lines[1:]])
    remarks = check_comparable(read(before), read(after))
    assert remarks == ["The servers differ in settings: fsync off and on.", "Seeds differ: 7 and 9."]


def test_the_table_fits_and_the_exit_code_says_whether_something_changed(before: Path, tmp_path: Path) -> None:
    after = write(tmp_path / "after", with_changes(2))
    same = run(str(before), str(before), "--all")
    assert same.exit_code == 0
    assert max(map(len, same.output.splitlines())) <= 100
    assert "…" not in same.output
    assert same.output.count(" ~ ") > 300
    changed = run(str(before), str(after))
    assert changed.exit_code == 1
    assert "2 of " in changed.output
    assert "×1.100" in changed.output  # noqa: RUF001


def test_json_is_one_object_a_line(before: Path, tmp_path: Path) -> None:
    after = write(tmp_path / "after", with_changes(2))
    lines = [json.loads(line) for line in run(str(before), str(after), "--format", "json").output.splitlines()]
    assert {line["metric"] for line in lines} == {"index_bytes_per_row", "rows_per_second"}
    assert all(line["claimed"] and line["low"] <= line["change"] <= line["high"] for line in lines)


def test_a_single_block_claims_nothing(tmp_path: Path) -> None:
    one, other = write(tmp_path / "one", records(blocks=1)), write(tmp_path / "other", with_changes(2, 5.0))
    assert not [each for each in changes(read(one), read(other)) if each.claimed]
