"""What check finds in a fleet, and what status says of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from shardflake import install
from shardflake.fleet import metrics
from shardflake.fleet.check import Thresholds, compare
from shardflake.fleet.file import Fleet, Shard
from shardflake.fleet.observe import Clock, Database, Observation, observe
from shardflake.fleet.pool import Failure
from shardflake.fleet.registry import Entry
from tests.cli.conftest import Run
from tests.conftest import dsn
from tests.fleet.conftest import TestFleet

SHARDS = (Shard("a", "", 1), Shard("b", "", 2), Shard("c", "", 3))
NOW = datetime(2026, 6, 1, tzinfo=UTC)


def answer(number: int, **changes: Any) -> Observation:
    """Return what a healthy shard says of itself, with some of it changed."""
    state = install.Status(
        install.head(), number, [number], [], "shardflake", "confirmed", NOW, NOW, None, timedelta(seconds=10), 3, 1024, 33.0
    )
    fields = {name: changes.pop(name) for name in ("clock", "drift", "columns", "database") if name in changes}
    whole = Observation(Database(99, number, "x", None, None), Clock(-0.01, 0.01), replace(state, **changes), "", ())
    return replace(whole, **fields)


def kinds(**answers: Any) -> set[tuple[str, str]]:
    """Return which findings three shards have, of which these say something else than a healthy one."""
    said = {shard: answers.get(shard.name, answer(shard.shard_id or 0)) for shard in SHARDS}
    return {(found.shard, found.kind) for found in compare(Fleet(SHARDS), said, None, Thresholds())}


def test_a_healthy_fleet_has_no_findings() -> None:
    assert kinds() == set()


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (Failure("ConnectionFailedError", "no"), {"unreachable"}),
        (Failure("UnsupportedServerError", "14"), {"unsupported"}),
        (answer(2, shard_id=None, identity="not assigned", logical_shards=[]), {"no shard id"}),
        (answer(2, revision="0000"), {"revision"}),
        (answer(2, identity="copied or altered"), {"identity"}),
        (answer(2, identity="another cluster"), {"identity"}),
        (answer(2, shard_id=4, logical_shards=[4]), {"shard id"}),
        (answer(2, shard_id=3, logical_shards=[3]), {"shard id", "clash"}),
        (answer(2, logical_shards=[1, 2]), {"clash"}),
        (answer(2, high_water=NOW + timedelta(seconds=14)), set()),
        (answer(2, high_water=NOW + timedelta(seconds=16)), {"mark ahead"}),
        (answer(2, years_left=0.9), {"time"}),
        (answer(2, ids_per_ms_peak=1000), {"peak"}),
        (answer(2, clock=Clock(0.2, 0.3)), set()),
        (answer(2, clock=Clock(0.3, 0.4)), {"clock"}),
        (answer(2, clock=Clock(-0.4, -0.3)), {"clock"}),
        (answer(2, clock=Clock(-5, 5)), set()),
        (answer(2, database=Database(99, 1, "x", None, None)), {"same database"}),
    ],
)
def test_each_finding(said: Observation | Failure, expected: set[str]) -> None:
    assert kinds(b=said) == {("b", kind) for kind in expected}


def test_part_of_a_fleet_is_compared_with_what_the_file_says_of_the_rest() -> None:
    whole = Fleet(tuple(replace(shard, tags=frozenset({"eu"} if shard.name == "b" else {"us"})) for shard in SHARDS))
    part = whole.tagged("eu")
    (b,) = part.shards
    assert compare(part, {b: answer(2)}, None, Thresholds()) == []
    (found,) = compare(part, {b: answer(2, logical_shards=[1, 2])}, None, Thresholds())
    assert (found.shard, found.kind) == ("b", "clash")
    assert found.message == "shard id 1 belongs to a by the file, which was not asked"
    entries = [Entry(number, shard.name, False, 99, number, shard.name, NOW, None) for number, shard in enumerate(SHARDS, 1)]
    assert compare(part, {b: answer(2)}, entries, Thresholds()) == []


def test_a_clash_that_the_file_does_not_settle_names_both() -> None:
    shards = (Shard("a", ""), Shard("b", ""))
    said = {shard: answer(5, database=Database(99, number, "x", None, None)) for number, shard in enumerate(shards)}
    found = compare(Fleet(shards), said, None, Thresholds())
    assert {(finding.shard, finding.message) for finding in found} == {
        ("a", "shard id 5 also issued by b"),
        ("b", "shard id 5 also issued by a"),
    }


COLUMNS = """
create table good (id bigint primary key default shardflake.next_id());
create table child (good_id bigint references good, n integer);
create table narrow (id integer primary key default shardflake.next_id());
create table narrow_child (good_id smallint references good, other_id integer references good);
create table forgotten (id bigint primary key, n integer);
insert into forgotten select shardflake.next_id();
create table counted (id bigserial primary key);
create table by_hand (id bigint primary key);
insert into by_hand values (7);
create table events (id bigint default shardflake.next_id(), n integer) partition by range (id);
create table events_1 (id bigint not null, n integer);
alter table events attach partition events_1 for values from (minvalue) to (0);
create table events_2 partition of events for values from (0) to (maxvalue);
"""


def test_columns_that_cannot_hold_ids_or_do_not_draw_them(make_shard: Callable[[int], Any], run: Run, tmp_path: Path) -> None:
    engine = make_shard(5)
    with engine.begin() as connection:
        for statement in COLUMNS.strip().split(";\n"):
            connection.exec_driver_sql(statement)
    found = observe(Shard("a", dsn(engine)))
    assert {(column.kind, column.table, column.column) for column in found.columns} == {
        ("not bigint", "narrow", "id"),
        ("foreign key", "narrow_child", "good_id"),
        ("foreign key", "narrow_child", "other_id"),
        ("no default", "public.forgotten", "id"),
        ("partition", "events_1", "id"),
    }
    file = tmp_path / "one.toml"
    file.write_text(f'[[shard]]\nname = "a"\nurl = "{dsn(engine)}"\n')
    result = run("fleet", "check", "--file", str(file), code=1)
    assert "a: column: not bigint: narrow.id: its type is integer" in result.stdout
    assert result.stdout.endswith("1 shards, 1 with findings\n")


def test_the_clock_is_compared_within_the_round_trip(make_shard: Callable[[int], Any]) -> None:
    clock = observe(Shard("a", dsn(make_shard(5)))).clock
    assert clock.earliest <= 0.001
    assert clock.latest >= -0.001
    assert clock.latest - clock.earliest < 1


def test_status_in_all_three_forms(make_fleet: Callable[..., TestFleet], run_fleet: Run, installed_template: str) -> None:
    fleet = make_fleet(2, installed_template)
    install.assign(fleet.engines[0], 0)
    fleet.execute(0, "select shardflake.next_id()")
    found = json.loads(run_fleet("status", "--format", "json", code=1).stdout)["shards"]
    assert [(shard["shard"], shard["identity"]) for shard in found] == [("s0", "confirmed"), ("s1", "not assigned")]
    assert "s0\t0\tconfirmed\t" in run_fleet("status", code=1).stdout
    text = run_fleet("status", "--format", "prometheus", code=1).stdout
    samples = dict(re.findall(r"^(\w+\{.*\}) (\S+)$", text, re.MULTILINE))
    assert samples['shardflake_ready{shard="s0"}'] == "1"
    assert samples['shardflake_ready{shard="s1"}'] == "0"
    assert 30 < float(samples['shardflake_years_left{shard="s0"}']) < 34.9
    assert 'shardflake_lead_seconds{shard="s1"}' not in samples
    for line in text.splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) shardflake_\w+ .+|shardflake_\w+\{\w+="[^"]*"(,\w+="[^"]*")*\} [-\d.e+]+', line)


def test_labels_are_escaped_and_a_lead_beyond_the_limit_is_not_ready() -> None:
    state = answer(1, identity='a"b\\c\nd').status
    assert state is not None
    assert r'identity="a\"b\\c\nd"' in metrics.text({SHARDS[0]: state})
    assert not metrics.ready(state)
    ok = replace(state, identity="confirmed", lead=timedelta(milliseconds=120), max_lead=timedelta(0))
    assert metrics.ready(ok)
    assert not metrics.ready(replace(ok, lead=timedelta(milliseconds=128)))
