"""``shardflake id`` for every kind of id: readings, making, converting, ranges, odds, streams."""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from shardflake import PRESETS, Layout
from shardflake.cli import app
from shardflake.cli.drawing import draw
from shardflake.kinds import DAY_MS, KINDS, LAYOUT_KINDS, Kind, candidates
from shardflake.texts import TextForm, render
from tests.cli.conftest import Run

VALID: dict[str, list[dict[str, Any]]] = json.loads((Path(__file__).parents[1] / "vectors.json").read_text())["valid"]
NOW_MS = 1_783_326_600_000
EVERY_ROW = [pytest.param(kind, row, id=f"{kind} {row.get('id') or row['text']}") for kind in VALID for row in VALID[kind]]


@pytest.mark.parametrize(("kind", "row"), EVERY_ROW)
def test_explain_reads_every_vector(run: Run, kind: str, row: dict[str, Any]) -> None:
    text = row.get("id") or row["text"]
    found = json.loads(run("id", "explain", "--format", "json", "--layout", kind, text).stdout)
    assert found.pop("id") == text
    assert found.pop("layout") == kind
    for name, value in row.items():
        if name in found:
            assert found[name] == value, name
    assert text in run("id", "explain", "--layout", kind, text).stdout


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_every_kind_is_drawn_to_scale_within_100_columns(kind: Kind) -> None:
    chooser = random.Random(2)
    row = VALID[kind.name][-1]
    values = [int(row["id"])] if kind.layout else [int(chooser.getrandbits(128))]
    for value in values:
        if kind.layout is None:
            numbers = {f.name: chooser.getrandbits(f.bits) for f in kind.fields if f.name not in kind.constants}
            value = kind.encode(numbers)
        lines = draw(value, kind).split("\n")
        assert max(len(line.plain) for line in lines) <= 100
        digits = [line for line in lines if line.spans and set(line.plain) <= {"0", "1", " "}]
        drawn = "".join(
            line.plain[span.start : span.end] for line in digits for span in line.spans if " on " in str(span.style)
        )
        assert drawn == format(value, f"0{kind.width}b")


def test_an_ambiguous_id_gets_every_plausible_reading_and_the_others_a_reason(run: Run) -> None:
    text = run("id", "explain", "399608120327803946").stdout
    for words in ("twitter    2013-11-10", "discord    2018-01-07", "instagram  2013-02-26", "--layout NAME chooses"):
        assert words in text
    assert "Ruled out: sonyflake, as which it would be of 2032-07-19; javascript, which has 53 bits, not 59." in text


def test_an_implausible_time_is_said(run: Run) -> None:
    assert "Its time is implausible: shardflake is expected from 2025-01-01" in run("id", "explain", str(2**63 - 1)).stdout
    text = run("id", "explain", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ").stdout
    assert "281474976710655 ms: past the year 9999" in text
    assert json.loads(run("id", "explain", "--format", "json", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ").stdout)["time"] is None


@pytest.mark.parametrize("layout", PRESETS.values(), ids=lambda layout: layout.name)
def test_windows_of_candidates_agree_with_plausibility(layout: Layout) -> None:
    chooser = random.Random(4)
    kind = next(kind for kind in LAYOUT_KINDS if kind.layout is layout)
    edge = (NOW_MS + DAY_MS - layout.epoch_ms) // layout.tick_ms << layout.shifts["time"]
    below = (1 << layout.shifts["time"]) - 1
    for value in (0, edge, edge + below, edge + below + 1, layout.largest, *(chooser.getrandbits(63) for _ in range(500))):
        found = candidates(TextForm.DECIMAL, value, NOW_MS)
        assert (kind in found) == kind.is_plausible(value, NOW_MS) or found == [LAYOUT_KINDS[0]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["c232ab00-9414-11ec-b3c8-9f6bdeced846"],
            "c232ab00-9414-11ec-b3c8-9f6bdeced846 is a UUID of version 1 and variant 10",
        ),
        (["--layout", "uuidv7", "919108f7-52d1-4320-9bac-f847db4148a8"], "its version is 4, not 7"),
        (["--layout", "nosuch", "5"], "'nosuch' is no layout; there are shardflake, twitter"),
        (["--layout", "twitter", "--tick", "10", "5"], "layout twitter has an epoch and a tick of its own"),
        (["--tick", "10", "5"], "--epoch and --tick need --layout"),
        (["--layout", "40/13/11", "5"], "sum to 63 at most"),
        (["340282366920938463463374607431768211455"], "is not an id: ids are 0 to 9223372036854775807"),
    ],
)
def test_explain_refuses_what_it_cannot_read(run: Run, words: list[str], message: str) -> None:
    result = run("id", "explain", *words, code=2)
    assert message in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("name", PRESETS)
def test_make_makes_every_vector_of_the_layouts(run: Run, name: str) -> None:
    for row in VALID[name]:
        words = ["--layout", name, "--time", row["time"], "--counter", str(row["counter"])]
        assert run("id", "make", *words, "--shard", str(row["shard"])).stdout == f"{row['id']}\n"
        parts = [f"--set={leaf.name}={row[leaf.name]}" for leaf in PRESETS[name].leaves if leaf.name not in ("time", "counter")]
        assert run("id", "make", *words, *parts).stdout == f"{row['id']}\n"


def test_make_makes_ulids_and_uuids(run: Run) -> None:
    time = "2022-02-22T19:22:22Z"
    words = ["--layout", "uuidv7", "--time", time, "--set", "rand_a=0xcc3", "--set", "rand_b=0x18c4dc0c0c07398f"]
    assert run("id", "make", *words).stdout == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f\n"
    assert json.loads(run("id", "make", *words, "--format", "json").stdout)["id"] == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"
    made = {run("id", "make", "--layout", "ulid", "--time", time).stdout for _ in range(3)}
    assert len(made) == 3
    assert all(text.startswith("01FWHE4YDG") for text in made)
    assert run("id", "make", "--layout", "uuidv4").stdout[14] == "4"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--shard", "5"], "layout shardflake needs --time"),
        (["--time", "2026-07-06T08:30:00Z"], "has the fields"),
        (["--layout", "uuidv4", "--time", "2026-07-06T08:30:00Z"], "uuidv4 holds no time"),
        (["--time", "2026-07-06T08:30:00Z", "--set", "shard=five"], "'shard=five' sets no field"),
        (["--layout", "ulid", "--time", "2026-07-06T08:30:00Z", "--shard", "5"], "ulid has the fields"),
        (
            ["--layout", "twitter", "--time", "2026-07-06T08:30:00Z", "--set", "worker=32", "--set", "datacenter=1"],
            "worker 32 does not fit",
        ),
    ],
)
def test_make_refuses_parts_that_cannot_be(run: Run, words: list[str], message: str) -> None:
    assert message in run("id", "make", *words, code=2).stderr


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_range_bounds_every_kind(run: Run, kind: Kind) -> None:
    words = ["id", "range", "2026-07-06T00:00:00Z", "2026-07-06T00:00:01Z", "--layout", kind.name, "--format", "json"]
    if not kind.has_time:
        assert "holds no time" in run(*words, code=2).stderr
        return
    bounds = json.loads(run(*words).stdout)
    made = json.loads(run("id", "explain", bounds["low"], "--layout", kind.name, "--format", "json").stdout)
    assert made["time"] == "2026-07-06T00:00:00.000Z"
    assert bounds["low"] < bounds["high"]


def test_convert_prints_a_number_in_every_form_that_fits_and_reads_it_again(run: Run) -> None:
    for value in (399608120327803946, 0x017F22E279B07CC398C4DC0C0C07398F):
        texts = json.loads(run("id", "convert", str(value), "--format", "json").stdout)
        assert set(texts) == {"decimal", "hex", *(["base32"] if value < 2**63 else ["ulid", "uuid"])}
        for form, text in texts.items():
            assert run("id", "convert", "--from", form, "--to", "decimal", text).stdout == f"{value}\n"
    assert "ambiguous" in run("id", "convert", "12345678901234567890123456", code=2).stderr
    assert (
        "9223372036854775808 does not fit: it must be 0 to" in run("id", "convert", "--to", "base32", str(2**63), code=2).stderr
    )


def test_odds_are_those_of_the_docs(run: Run) -> None:
    text = run("id", "odds").stdout
    for words in ("1 in 10.7 billion", "1 in 76.6 million", "1 in 1.2 million", "2059-11-04", "4,096,000"):
        assert words in text
    rows = [json.loads(line) for line in run("id", "odds", "--format", "json").stdout.splitlines()]
    assert [row["kind"] for row in rows] == ["uuidv4", "ulid", "uuidv7", *PRESETS]
    (own,) = [
        json.loads(line)
        for line in run("id", "odds", "--bits", "64", "--random-tick", "1000", "--format", "json").stdout.splitlines()
    ]
    assert own["expected_collisions"] == pytest.approx((10**6) ** 2 * 31_557_600 / 2**65)
    assert "uuidv4" not in run("id", "odds", "--layout", "42/8/13").stdout
    assert "needs --bits" in run("id", "odds", "--random-tick", "5", code=2).stderr


def test_ids_come_from_stdin_and_an_error_names_its_line() -> None:
    result = CliRunner().invoke(app, ["id", "explain", "--format", "json"], input="1 2\n\n3\n")
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == ["1", "2", "3"]
    result = CliRunner().invoke(app, ["id", "convert", "--to", "hex"], input="16\n12x\n")
    assert result.exit_code == 2
    assert "line 2: '12x' is not an id" in result.stderr


def test_bytes_that_are_no_text_are_refused_by_our_error() -> None:
    result = CliRunner().invoke(app, ["id", "explain"], input=b"\xff\xfe\n")
    assert result.exit_code == 2
    assert "line 1: '\\\\xff\\\\xfe' is not an id" in result.stderr


@pytest.mark.parametrize(("kind", "row"), EVERY_ROW)
def test_the_right_kind_is_among_the_guesses_or_its_time_implausible(run: Run, kind: str, row: dict[str, Any]) -> None:
    found = json.loads(run("id", "explain", "--format", "json", row.get("id") or row["text"]).stdout)
    readings = [found["layout"], *(other["layout"] for other in found["other_readings"])]
    made = row.get("unix_ms")
    assert kind in readings or (made is not None and kind in PRESETS and made > NOW_MS)


def test_a_million_ids_take_seconds() -> None:
    chooser, ids = random.Random(6), 100_000
    text = "\n".join(render(chooser.getrandbits(58), TextForm.DECIMAL) for _ in range(ids))
    words = [sys.executable, "-c", "from shardflake.cli import main; main()", "id", "explain", "--layout", "shardflake"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([*words, "--format", "json"], input=text, capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == ids
    # A tenth of a million, in processor time: other programs may want the processor too.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 1.5


@pytest.mark.parametrize("columns", [80, 100])
def test_what_people_read_fits_their_terminal(run: Run, columns: int) -> None:
    seven = ("--layout", "time:39/counter:8/shard:3/zone:3/x:1/y:1/z:1", "15139799290000")
    for words in (("explain", "399608120327803946"), ("explain", "9" * 18), ("explain", *seven), ("odds",)):
        lines = run("id", *words, env={"COLUMNS": str(columns)}).stdout.splitlines()
        assert max(map(len, lines)) <= columns, words
        assert all(line == line.rstrip() for line in lines)
    assert sum(line.startswith("│ ") for line in lines) == 3 + 1 + 6 + 1, "a row of a table takes more than one line"


def test_fields_that_do_not_fit_go_below_and_none_is_lost(run: Run) -> None:
    words = ("id", "explain", "--layout", "time:39/counter:8/shard:3/zone:3/x:1/y:1/z:1", "15139799290000")
    narrow, wide = (run(*words, env={"COLUMNS": columns}).stdout for columns in ("80", "100"))
    assert len(narrow.splitlines()) == len(wide.splitlines()) + 6
    assert sorted(narrow.split()) == sorted(wide.split())
