"""Reading raw results: averages within blocks, cut files, resumed runs, refusals."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from shardflake.bench.storage import Key, read
from shardflake.errors import ResultsError
from tests.bench.synthetic import CONTENDERS, header, records, sample, write

RATE = Key("bulk", "uuidv4", "rows_per_second", (("memory", "cached"),))


def rate(block: int, value: float) -> dict[str, Any]:
    return sample("bulk", "uuidv4", block, {"memory": "cached"}, "rows_per_second", value, "rows/s")


def test_samples_of_a_block_are_averaged(tmp_path: Path) -> None:
    lines = [header(), rate(1, 10), rate(1, 20), rate(2, 5), rate(1, 30), rate(2, 1e-3)]
    results = read(write(tmp_path, lines))
    assert results.values == {RATE: {1: pytest.approx(20), 2: pytest.approx(2.5005)}}
    assert results.samples == 5
    assert results.units == {"rows_per_second": "rows/s"}


def test_lines_taken_by_the_fast_way_mean_what_json_says(tmp_path: Path) -> None:
    everything = list(records())
    results = read(write(tmp_path, everything))
    expected: dict[Key, dict[int, list[float]]] = {}
    for line in everything:
        if line["kind"] == "sample":
            params = tuple(sorted(line["params"].items()))
            key = Key(line["workload"], line["contender"], line["metric"], params)
            expected.setdefault(key, {}).setdefault(line["block"], []).append(line["value"])
    means = {key: {block: math.fsum(all_) / len(all_) for block, all_ in blocks.items()} for key, blocks in expected.items()}
    assert {key: pytest.approx(blocks) for key, blocks in means.items()} == results.values
    assert results.samples == sum(line["kind"] == "sample" for line in everything)
    assert set(results.contenders) == {name for name, *_ in CONTENDERS}


def test_a_name_that_looks_like_a_value_is_not_taken_for_one(tmp_path: Path) -> None:
    odd = [sample("bulk", "uuidv4", 1, {'"value": 7,': 1}, "seconds", value, "s") for value in (3.0, 5.0)]
    results = read(write(tmp_path, [header(), *odd]))
    assert list(results.values.values()) == [{1: 4.0}]


def test_a_cut_last_line_is_left_out_and_told(tmp_path: Path) -> None:
    path = write(tmp_path, [header(), rate(1, 10), rate(2, 20)]) / "results.ndjson"
    path.write_bytes(path.read_bytes()[:-30])
    results = read(tmp_path)
    assert results.values == {RATE: {1: 10.0}}
    assert any("line, 3, is cut" in warning for warning in results.warnings)
    assert any("did not get to its end" in warning for warning in results.warnings)


@pytest.mark.parametrize("cut", range(1, 220, 7))
def test_a_file_cut_anywhere_is_read(tmp_path: Path, cut: int) -> None:
    path = write(tmp_path, [header(), rate(1, 10), rate(1, 20)]) / "results.ndjson"
    path.write_bytes(path.read_bytes()[:-cut])
    assert read(tmp_path).values.get(RATE, {1: 0})[1] in (0, 10, 15)


def test_a_broken_line_inside_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, [header(), rate(1, 10)]) / "results.ndjson"
    path.write_text(path.read_text() + '{"kind": "sam\n' + json.dumps(rate(2, 20)) + "\n")
    with pytest.raises(ResultsError, match="line 3, is not a record"):
        read(tmp_path)


def test_a_resumed_run_measures_its_open_blocks_again(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        [
            header(),
            rate(1, 10),
            {"kind": "block", "workload": "bulk", "block": 1, "params": {"memory": "cached"}},
            rate(2, 1_000_000),
        ],
    )
    file = path / "results.ndjson"
    rest = [{"kind": "note", "text": "resumed", "resumed": True}, rate(2, 20), {"kind": "end", "ended": "", "seconds": 1}]
    file.write_text(file.read_text() + '{"kind": "sample", "wor\n' + "".join(json.dumps(line) + "\n" for line in rest))
    results = read(path)
    assert results.values == {RATE: {1: 10.0, 2: 20.0}}
    assert results.ended
    assert results.notes == ["resumed"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "does not start with a header"),
        ([{"kind": "sample"}], "does not start with a header"),
        ([header(format=2)], "has format 2, this version reads 1"),
        ([header(), {"kind": "sample", "workload": "bulk"}], "line 2: KeyError 'value'"),
        ([header(), {"kind": "riddle"}], "unknown kind 'riddle'"),
        ([header(), rate(1, math.nan)], "nan is no measurement"),
        ([header(), rate(1, 1), rate(1, math.inf)], "inf is no measurement"),
    ],
)
def test_what_is_no_result_is_refused(tmp_path: Path, lines: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ResultsError, match=message):
        read(write(tmp_path, lines))


def test_a_directory_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="No such file"):
        read(tmp_path)
