"""One command upgrades every shard: others go on when one fails, and a run can be stopped and repeated."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from alembic.command import upgrade as command_upgrade

from shardflake import install
from shardflake.fleet.file import read
from shardflake.fleet.upgrade import fleet_lock
from tests.cli.conftest import Run
from tests.conftest import dsn
from tests.fleet.conftest import TestFleet

INSTALLED = "select to_regproc('shardflake.status') is not null"
FUNCTION = "select string_agg(oid::text, ',' order by oid) from pg_proc where pronamespace = to_regnamespace('shardflake')"


def command(fleet: TestFleet, *words: str) -> subprocess.Popen[str]:
    """Start ``shardflake fleet`` as a program of its own, in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "shardflake", "fleet", *words, "--file", str(fleet.path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def installed(fleet: TestFleet) -> list[int]:
    return [number for number in range(len(fleet.engines)) if fleet.scalar(number, INSTALLED)]


def wait_for_some(fleet: TestFleet) -> None:
    for _ in range(3000):
        if installed(fleet):
            return
        time.sleep(0.02)
    pytest.fail("no shard was upgraded in time")


def settled(fleet: TestFleet) -> list[int]:
    """Return which shards are installed once no session is at work on them any more."""
    busy = "select count(*) from pg_stat_activity where application_name = 'shardflake' and state <> 'idle'"
    for _ in range(3000):
        if fleet.scalar(0, busy) == 1:
            return installed(fleet)
        time.sleep(0.02)
    return pytest.fail("workers went on without their parent")


def test_upgrade_twice_and_plan(make_fleet: Callable[..., TestFleet], run_fleet: Run) -> None:
    fleet = make_fleet(4)
    fleet.write(s3=f"url = {dsn(fleet.engines[3])!r}\nshard_id = 3\nlogical_shards = ['100-1099']")
    planned = json.loads(run_fleet("plan", "--format", "json").stdout)
    assert [step["actions"] for step in planned["shards"]][2:] == [
        ["install revision " + install.head(), "assign shard 2"],
        ["install revision " + install.head(), "assign shard 3 and 1000 logical shards"],
    ]
    assert installed(fleet) == []
    done = json.loads(run_fleet("upgrade", "--format", "json", "--canary", "s2").stdout)
    assert [(shard["result"], shard["before"], shard["revision"]) for shard in done["shards"]] == [
        ("upgraded", None, install.head())
    ] * 4
    assert [fleet.scalar(number, "select shardflake.shard_of(shardflake.next_id())") for number in range(4)] == [0, 1, 2, 3]
    assert fleet.scalar(3, "select shardflake.shard_of(shardflake.next_id(1099))") == 1099
    before = [fleet.scalar(number, FUNCTION) for number in range(4)]
    assert "4 unchanged" in run_fleet("upgrade").stderr
    assert [fleet.scalar(number, FUNCTION) for number in range(4)] == before
    assert "s1\t" + install.head() + "\tnothing" in run_fleet("plan").stdout


def kill_and_rerun(fleet: TestFleet, run_fleet: Run) -> list[int]:
    """Kill an upgrade half-way and repeat it; gives the shards that the first run had finished."""
    with command(fleet, "upgrade", "--jobs", "2") as process:
        wait_for_some(fleet)
        process.kill()
    finished = settled(fleet)
    before = {number: fleet.scalar(number, FUNCTION) for number in finished}
    done = json.loads(run_fleet("upgrade", "--format", "json").stdout)
    for number in range(len(fleet.engines)):
        assert fleet.scalar(number, "select array_agg(version_num::text) from shardflake._revision") == [install.head()]
        assert fleet.scalar(number, "select shardflake.shard_id()") == number
    assert before == {number: fleet.scalar(number, FUNCTION) for number in finished}
    results = {number: shard["result"] for number, shard in enumerate(done["shards"])}
    assert [number for number, result in results.items() if result == "unchanged"] <= finished
    return finished


def spoil(fleet: TestFleet, server_dsn: str) -> tuple[int, int, int]:
    """Edit a function of one shard by hand, clone another over a third, and give a fourth an id that is taken."""
    edited, cloned, clashing = 2, len(fleet.engines) // 2, len(fleet.engines) - 1
    fleet.execute(edited, "create or replace function shardflake._no_shard() returns integer language sql return 7")
    names = {number: psycopg.conninfo.conninfo_to_dict(dsn(fleet.engines[number]))["dbname"] for number in (cloned, cloned - 1)}
    with psycopg.connect(server_dsn, autocommit=True) as connection:
        connection.execute(psycopg.sql.SQL("drop database {}").format(psycopg.sql.Identifier(str(names[cloned]))))
        connection.execute(
            psycopg.sql.SQL("create database {} template {}").format(
                psycopg.sql.Identifier(str(names[cloned])), psycopg.sql.Identifier(str(names[cloned - 1]))
            )
        )
    fleet.execute(clashing, "select shardflake.assign_shard(1, replace => true)")
    return edited, cloned, clashing


def check_names_exactly(fleet: TestFleet, run_fleet: Run, spoiled: tuple[int, int, int]) -> None:
    findings = json.loads(run_fleet("check", "--format", "json", code=1).stdout)["findings"]
    assert {finding["shard"] for finding in findings} == {f"s{number}" for number in spoiled}
    kinds = {number: {f["kind"] for f in findings if f["shard"] == f"s{number}"} for number in spoiled}
    edited, cloned, clashing = spoiled
    assert kinds == {edited: {"drift"}, cloned: {"identity", "shard id", "clash"}, clashing: {"shard id", "clash"}}
    (diff,) = [finding["detail"] for finding in findings if finding["kind"] == "drift"]
    assert "\n+RETURN 7\n" in diff
    assert "function shardflake._no_shard() as released" in diff


def test_an_upgrade_that_is_killed_half_way_is_finished_by_the_next_one(
    make_fleet: Callable[..., TestFleet], run_fleet: Run
) -> None:
    fleet = make_fleet(12)
    assert 0 < len(kill_and_rerun(fleet, run_fleet)) < 12
    assert run_fleet("check").stdout == "12 shards, no findings\n"
    spoiled = spoil(fleet, dsn(fleet.engines[0]))
    check_names_exactly(fleet, run_fleet, spoiled)


@pytest.mark.torture
def test_a_hundred_databases(make_fleet: Callable[..., TestFleet], run_fleet: Run) -> None:
    fleet = make_fleet(100)
    assert 0 < len(kill_and_rerun(fleet, run_fleet)) < 100
    assert run_fleet("check").stdout == "100 shards, no findings\n"
    check_names_exactly(fleet, run_fleet, spoil(fleet, dsn(fleet.engines[0])))


def test_an_interrupt_finishes_the_shards_under_work_and_says_so(make_fleet: Callable[..., TestFleet], run_fleet: Run) -> None:
    fleet = make_fleet(8)
    with command(fleet, "upgrade", "--jobs", "1", "--format", "json") as process:
        wait_for_some(fleet)
        os.killpg(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "interrupted: " in errors
    assert "Traceback" not in errors
    results = [shard["result"] for shard in json.loads(output)["shards"]]
    assert set(results) == {"upgraded", "skipped"}
    assert [number for number, result in enumerate(results) if result == "upgraded"] == installed(fleet)
    run_fleet("upgrade")
    assert len(installed(fleet)) == 8


def test_a_second_operator_is_kept_out(make_fleet: Callable[..., TestFleet], run_fleet: Run) -> None:
    fleet = make_fleet(2)
    with fleet_lock(read(fleet.path)):
        assert "another operator is at work on this fleet" in run_fleet("upgrade", code=1).stderr
        assert installed(fleet) == []
    run_fleet("upgrade")


def test_others_go_on_when_a_shard_does_not_answer(make_fleet: Callable[..., TestFleet], run_fleet: Run) -> None:
    fleet = make_fleet(3)
    fleet.write(s0="url = 'host=127.0.0.1 port=1 dbname=x user=postgres password=hush'\nshard_id = 0")
    result = run_fleet("upgrade", code=1)
    assert "1 failed" in result.stderr
    assert "2 upgraded" in result.stderr
    assert "warning: " in result.stderr
    assert "s0\tfailed" in result.stdout
    assert "hush" not in result.output
    assert installed(fleet) == [1, 2]
    assert "s0: unreachable: cannot connect" in run_fleet("check", code=1).stdout
    assert 'shardflake_up{shard="s0"} 0' in run_fleet("status", "--format", "prometheus", code=1).stdout


def test_no_shard_that_answers_is_exit_code_3(make_fleet: Callable[..., TestFleet], run_fleet: Run) -> None:
    fleet = make_fleet(1)
    fleet.write(s0="url = 'host=127.0.0.1 port=1 dbname=x'")
    for words in (("upgrade",), ("plan",), ("check",), ("status",)):
        run_fleet(*words, code=3)


def test_a_shard_that_answers_as_another_is_left_alone(make_fleet: Callable[..., TestFleet], run_fleet: Run) -> None:
    fleet = make_fleet(3)
    install.upgrade(fleet.engines[1], 7)
    assert "s1\tfailed" in run_fleet("upgrade", code=1).stdout
    assert fleet.scalar(1, "select shardflake.shard_id()") == 7
    assert installed(fleet) == [0, 1, 2]


def test_an_id_that_a_database_has_already_is_found_before_any_id_is_issued(
    make_fleet: Callable[..., TestFleet], run_fleet: Run
) -> None:
    fleet = make_fleet(3)
    install.upgrade(fleet.engines[1])
    install.assign(fleet.engines[1], 1, logical_shards=[2])
    assert "shard id 2 is already that of s1" in run_fleet("plan", code=1).stdout
    run_fleet("upgrade", code=1)
    assert installed(fleet) == [0, 1]


def test_a_canary_that_fails_stops_the_rest(make_fleet: Callable[..., TestFleet], run_fleet: Run) -> None:
    fleet = make_fleet(3)
    fleet.execute(1, "create schema shardflake")
    fleet.execute(1, "create table shardflake._flush (n integer)")
    result = run_fleet("upgrade", "--canary", "s1", code=1)
    assert "1 failed, 2 skipped" in result.stderr
    assert installed(fleet) == []
    assert "no shard is named 'x'" in run_fleet("upgrade", "--canary", "x", code=2).stderr


def test_max_failures_stops_the_rest(make_fleet: Callable[..., TestFleet], run_fleet: Run) -> None:
    fleet = make_fleet(4)
    for number in (0, 1):
        fleet.execute(number, "create schema shardflake")
        fleet.execute(number, "create table shardflake._flush (n integer)")
    result = run_fleet("upgrade", "--max-failures", "1", "--jobs", "1", code=1)
    assert "2 failed, 2 skipped" in result.stderr
    assert installed(fleet) == []


def test_an_upgrade_locks_no_other_table(make_fleet: Callable[..., TestFleet]) -> None:
    fleet = make_fleet(1)
    fleet.execute(0, "create table orders (id bigint primary key)")
    engine = fleet.engines[0]
    query = (
        "select distinct n.nspname from pg_locks l join pg_class c on c.oid = l.relation "
        "join pg_namespace n on n.oid = c.relnamespace join pg_database d on d.oid = l.database "
        "where d.datname = current_database() and l.mode = 'AccessExclusiveLock'"
    )
    with install.transaction(engine) as connection:
        install.run_alembic(connection, command_upgrade, "head")
        found = set(connection.scalars(sa.text(query)))
    assert found - {"pg_toast"} == {"shardflake"}


def test_a_bad_file_is_exit_code_2_with_the_line(run_fleet: Run, tmp_path: Path) -> None:
    (tmp_path / "shards.toml").write_text('[[shard]]\nname = "a"\nurl = "host=a"\nshard_id = 9000\n')
    for words in (("plan",), ("upgrade",), ("check",), ("status",)):
        assert "shards.toml:4: shard id 9000" in run_fleet(*words, code=2).stderr
