"""Runs of the benchmark on real servers, at sizes that say nothing about speed."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql

from shardflake.bench import contenders, reporting, runner, scratch
from shardflake.bench.profiles import PROFILES
from shardflake.bench.storage import read
from shardflake.bench.workloads import WORKLOADS
from shardflake.errors import ConnectionFailedError, InstallationError, UnsupportedServerError
from shardflake.server import LocalServer
from tests.conftest import create_database, drop_database, dsn

pytestmark = pytest.mark.xdist_group("bench runs")
TINY = dataclasses.replace(
    PROFILES["quick"],
    bulk_rows=20_000,
    session_rows=800,
    clients=(8,),
    disorder_rows=20_000,
    windows=(0, 1, 16),
    live_rows=8000,
    index_rows=6000,
    checkpoint_rows=6000,
    checkpoint_x=(1,),
)
MINE = "mine=bigint:(random() * 1e15)::bigint"
DETERMINISTIC = (
    "index_bytes_per_row",
    "leaf_density",
    "splits_per_million",
    "wal_split",
    "wal_index_insert",
    "disorder_distance",
)
Records = list[dict[str, Any]]


def plan(url: str | None, *workloads: str, only: tuple[str, ...] = (), **sizes: Any) -> runner.Plan:
    """Return a plan of tiny sizes: of all workloads, or of those named."""
    chosen = [workload() for workload in WORKLOADS if not workloads or workload.name in workloads]
    return runner.Plan(dataclasses.replace(TINY, **sizes), contenders.select(only), chosen, 1, url)


def measure(made: runner.Plan, directory: Path, *, resume: bool = False) -> Records:
    """Run a plan, and return what it wrote."""
    path = runner.run(made, directory, lambda *_: None, resume=resume)
    return [json.loads(line) for line in path.read_text().splitlines()]


def values(records: Records, **wanted: Any) -> list[float]:
    """Return the samples whose fields are as wanted."""
    return [each["value"] for each in records if each["kind"] == "sample" and wanted.items() <= each.items()]


def leftovers(url: str) -> list[str]:
    """Return the scratch schemas that are there."""
    with psycopg.connect(url) as connection:
        rows = connection.execute("select nspname from pg_namespace where nspname like 'shardflake_bench%'").fetchall()
    return [name for (name,) in rows]


@pytest.fixture(scope="module")
def url(local_server: LocalServer) -> Iterator[str]:
    """A database for the runs of this module."""
    create_database(local_server, "bench_runs")
    yield local_server.url("bench_runs")
    drop_database(local_server, "bench_runs")


@pytest.fixture(scope="module")
def everything(url: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Records]:
    """The directory and the records of a run of all workloads and contenders, and one of the user's."""
    directory = tmp_path_factory.mktemp("run") / "all"
    return directory, measure(plan(url, only=(MINE,)), directory)


def test_a_run_has_records_of_every_kind_and_a_report(everything: tuple[Path, Records], url: str) -> None:
    directory, records = everything
    kinds = {each["kind"] for each in records}
    assert kinds == {"header", "block", "sample", "series", "histogram", "heatmap", "physics", "finding", "end"}
    assert {each["workload"] for each in records if each["kind"] == "block"} == {workload.name for workload in WORKLOADS}
    assert reporting.write(directory).exists()
    assert read(directory).ended
    assert leftovers(url) == []


def test_measurements_agree_with_physics(everything: tuple[Path, Records]) -> None:
    checks = [each for each in everything[1] if each["kind"] == "physics"]
    assert {each["formula"] for each in checks} >= {"ascending_bytes", "ascending_splits", "ascending_density", "leaf_model"}
    for each in checks:
        if each["workload"] == "checkpoint":  # chance, at this size
            continue
        scale = 1 if each["quantity"] == "leaf_density" else each["predicted"]
        assert each["measured"] == pytest.approx(each["predicted"], abs=each["tolerance"] * scale), each


def test_the_curve_has_its_shape(everything: tuple[Path, Records]) -> None:
    swept = {
        each["params"]["ratio"]: each["value"]
        for each in everything[1]
        if each["kind"] == "sample" and each["contender"] == "bigint" and each["metric"] == "leaf_density"
    }
    assert swept[0] == pytest.approx(0.90, abs=0.01)
    assert swept[1] == pytest.approx(0.53, abs=0.02)
    assert swept[1] < swept[max(swept)] < swept[0]


def test_the_twin_does_not_differ_and_others_do(everything: tuple[Path, Records]) -> None:
    for metric in ("index_bytes_per_row", "leaf_density", "splits_per_million", "wal_split"):
        baseline, twin, v4 = (
            values(everything[1], workload="bulk", metric=metric, contender=name)
            for name in ("bigserial", "bigserial-aa", "uuidv4")
        )
        assert baseline == twin
        assert baseline != v4


def test_a_contender_of_the_user_takes_part(everything: tuple[Path, Records]) -> None:
    (density,) = {*values(everything[1], workload="bulk", metric="leaf_density", contender="mine")[:1]}
    assert 0.6 < density < 0.8
    for workload in ("autocommit", "reads", "retention", "secondary", "checkpoint", "generator"):
        assert any(each.get("contender") == "mine" and each["workload"] == workload for each in everything[1]), workload


def test_runs_of_one_seed_agree(everything: tuple[Path, Records], url: str, tmp_path: Path) -> None:
    again = measure(plan(url, "bulk", "migration"), tmp_path)
    first = {
        (each["workload"], each["contender"], each["metric"], each["block"], str(each["params"])): each["value"]
        for each in everything[1]
        if each["kind"] == "sample" and each["metric"] in DETERMINISTIC
    }
    compared = 0
    for each in again:
        if each["kind"] == "sample" and each["metric"] in DETERMINISTIC:
            key = (each["workload"], each["contender"], each["metric"], each["block"], str(each["params"]))
            assert each["value"] == pytest.approx(first[key], rel=0.005), key
            compared += 1
    assert compared > 100


def test_eight_writers_leave_an_index_as_bigserials(url: str, tmp_path: Path) -> None:
    only = ("shardflake", "uuidv4")
    records = measure(plan(url, "transactions50", only=only, session_rows=40_000, blocks={}, wal_blocks=0), tmp_path)
    baseline, ours, v4 = (
        values(records, contender=name, metric="index_bytes_per_row", block=0)[0]
        for name in ("bigserial", "shardflake", "uuidv4")
    )
    assert ours / baseline == pytest.approx(1, abs=0.01)
    assert v4 / baseline > 1.5
    found = [each for each in records if each["kind"] == "finding" and each["what"] == "duplicates"]
    assert {each["contender"] for each in found} == {"bigserial", "bigserial-aa", *only}
    assert not any(each["count"] for each in found)


def test_instagrams_duplicates_and_density_show(url: str, tmp_path: Path) -> None:
    for number in itertools.count():
        records = measure(
            plan(url, "disorder", only=("instagram",), live_rows=48_000, disorder_rows=2000, windows=()), tmp_path / str(number)
        )
        found = [each for each in records if each["kind"] == "finding" and each["contender"] == "instagram"]
        if any(each["count"] for each in found if each["what"] == "duplicates"):
            break
        assert number < 12
    assert any(each["count"] for each in found if each["what"] == "order_inversions")
    live = {
        each["contender"]: each["value"]
        for each in records
        if each["kind"] == "sample"
        and each["metric"] == "leaf_density"
        and (each["params"]["case"] or "").endswith("8 writers")
    }
    assert live["instagram"] < live["bigserial"] - 0.005


def test_a_run_goes_on_after_its_server_was_killed(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    only = ("shardflake",)
    with LocalServer(request.config.getoption("--pg-bin"), {"fsync": "off"}) as server:
        made = plan(server.url(), "bulk", "migration", only=only)

        def kill(step: str, done: int, total: int) -> None:
            if done == total - 1:
                server.stop("immediate")

        with pytest.raises(ConnectionFailedError, match="--resume"):
            runner.run(made, tmp_path, kill)
        cut = (tmp_path / "results.ndjson").read_text()
        with (tmp_path / "results.ndjson").open("a") as file:
            file.write('{"kind": "sam')
        server.start()
        with pytest.raises(InstallationError, match="exists already"):
            scratch.prepare(server.url(), None, "another run", 1, resumed=True)
        records = measure(made, tmp_path, resume=True)
        assert (tmp_path / "results.ndjson").read_text().startswith(cut)
        assert leftovers(server.url()) == []
    assert records[-1]["kind"] == "end"
    blocks = [(each["workload"], each["block"]) for each in records if each["kind"] == "block"]
    assert sorted(blocks) == [("bulk", 0), ("bulk", 1), ("migration", 0)]
    results = read(tmp_path)
    assert results.ended
    assert len(results.values) > 20


def test_an_interrupt_removes_the_scratch_schemas(url: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "shardflake", "bench", "run", "--profile", "quick", "--url", url, "-o", str(tmp_path)]
    program = "from shardflake.cli import main; import sys; sys.argv[0] = 'shardflake'; main()"
    command[1:3] = ["-c", program]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
    results = tmp_path / "results.ndjson"
    for _ in itertools.takewhile(lambda _: run.poll() is None, range(600)):
        if results.exists() and '"sample"' in results.read_text():
            break
        time.sleep(0.05)
    assert leftovers(url) != []
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=30)
    assert run.returncode == 130, errors
    assert f"--resume {tmp_path}" in errors
    assert leftovers(url) == []
    assert '"sample"' in results.read_text()


def test_a_checkpoint_that_nobody_asked_for_is_named(url: str, tmp_path: Path) -> None:
    stopping = threading.Event()

    def interfere() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            while not stopping.wait(0.05):
                connection.execute("select pg_logical_emit_message(false, 'test', 'something to write')")
                connection.execute("checkpoint")

    thread = threading.Thread(target=interfere)
    thread.start()
    try:
        records = measure(plan(url, "overhead"), tmp_path)  # reads no WAL, which checkpoints remove
    finally:
        stopping.set()
        thread.join()
    assert any(
        "A checkpoint that the benchmark did not ask for ran during overhead, " in each.get("text", "") for each in records
    )


def test_its_own_checkpoints_are_asked_for(url: str) -> None:
    bench = scratch.prepare(url, None, "a test", 1, resumed=False)
    try:
        bench.checkpoint()
        assert not bench.had_checkpoint()
    finally:
        bench.connection.close()
        scratch.remove(url)


def test_missing_privileges_are_named_and_the_rest_runs(
    local_server: LocalServer, make_database: Callable[..., sa.Engine], tmp_path: Path
) -> None:
    engine = make_database()
    with psycopg.connect(dsn(engine), autocommit=True) as connection:
        connection.execute("create role bench_plain login")
        try:
            database = connection.info.dbname
            plain = psycopg.conninfo.make_conninfo(dsn(engine), user="bench_plain")
            with pytest.raises(InstallationError, match=f"GRANT CREATE ON DATABASE {database} TO bench_plain"):
                measure(plan(plain, "bulk"), tmp_path / "refused")
            connection.execute(sql.SQL("grant create on database {} to bench_plain").format(sql.Identifier(database)))
            connection.execute("create extension pgstattuple")
            records = measure(plan(plain, "bulk", "autocommit", "reads", only=("shardflake",)), tmp_path / "run")
        finally:
            connection.execute("drop owned by bench_plain")
            connection.execute("drop role bench_plain")
    grants = " ".join(each["grant"] for each in records[0]["unavailable"])
    assert "GRANT pg_stat_scan_tables TO bench_plain" in grants
    assert "CREATE EXTENSION pg_walinspect; GRANT pg_read_server_files TO bench_plain" in grants
    assert "GRANT pg_checkpoint TO bench_plain" in grants
    assert values(records, workload="bulk", metric="index_bytes_per_row", contender="shardflake")
    assert not values(records, metric="leaf_density")
    assert reporting.write(tmp_path / "run").exists()


def test_a_schema_of_that_name_is_left_alone(url: str, tmp_path: Path) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create schema shardflake_bench; create table shardflake_bench.dear ()")
        try:
            with pytest.raises(InstallationError, match="DROP SCHEMA shardflake_bench CASCADE"):
                measure(plan(url, "bulk"), tmp_path)
            assert connection.execute("select 'shardflake_bench.dear'::regclass").fetchone()
        finally:
            connection.execute("drop schema shardflake_bench cascade")
    assert not (tmp_path / "results.ndjson").exists()


def test_a_standby_is_refused(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    server = LocalServer(request.config.getoption("--pg-bin")).create()
    try:
        (server.data / "standby.signal").touch()
        server.start()
        with pytest.raises(UnsupportedServerError, match="standby"):
            measure(plan(server.url(), "bulk"), tmp_path)
    finally:
        server.remove()


def test_fsync_off_is_warned_of(everything: tuple[Path, Records]) -> None:
    assert any("fsync is off" in warning for warning in everything[1][0]["warnings"])


def test_a_full_disk_is_refused_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardflake.bench.profiles.Profile.disk_bytes", property(lambda self: 1 << 60))
    with pytest.raises(InstallationError, match="MiB free, profile quick may need"):
        measure(plan(None, "bulk"), tmp_path)
