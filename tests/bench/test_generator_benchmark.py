"""The generator benchmark as a whole, at sizes that say nothing about speed."""

from __future__ import annotations

import io
import itertools
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from rich.console import Console

from shardflake.bench import instagram
from shardflake.bench.generator import __main__ as generator
from shardflake.bench.generator import contenders, load, probes, report, targets
from shardflake.errors import ConnectionFailedError
from shardflake.server import LocalServer
from tests.conftest import dsn

TINY = load.Sizes(bulk_statements=2, async_rows=20, sync_rows=10, copy_rows=1000, loop_ids=50_000, batch_calls=2, objects=5000)


@pytest.fixture
def stage(local_server: LocalServer, shard: sa.Engine) -> Iterator[load.Stage]:
    """A database to measure in, with the contenders' functions."""
    with psycopg.connect(dsn(shard), autocommit=True) as connection:
        instagram.install(connection, 5)
        yield load.Stage(local_server, dsn(shard), connection, TINY)


def test_duplicates_are_counted(stage: load.Stage) -> None:
    constant = contenders.Contender("constant", "one id for all", "bigint default 7", unique=False)
    assert load.bulk(stage, constant)["duplicates"] == 8 * 2 * 1000 - 1
    assert load.bulk(stage, contenders.CONTENDERS["shardflake"])["duplicates"] == 0


def test_instagrams_function_repeats_ids(stage: load.Stage) -> None:
    assert any(load.bulk(stage, contenders.CONTENDERS["instagram"])["duplicates"] for _ in range(50))


def test_a_failing_statement_is_no_result(stage: load.Stage) -> None:
    same = contenders.Contender("same", "the same id twice", "bigint default 7")
    with pytest.raises(ConnectionFailedError, match="pgbench failed"):
        load.bulk(stage, same)


def test_smoke(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    steps = []
    with LocalServer(request.config.getoption("--pg-bin"), generator.SETTINGS) as server:
        samples, environment = generator.measure(server, 2, TINY, 1, lambda step, total: steps.append((step, total)))
    assert {total for _, total in steps} == {len(steps)}
    missing = {outcome.target.workload for outcome in targets.outcomes(samples) if outcome.measured is None}
    allowed = set() if probes.has_command_line() else {"explain"}
    if environment["server_version_num"] < 180000:  # no uuidv7()
        allowed.add("bulk")
    assert missing == allowed

    console = Console(width=100, record=True, file=io.StringIO())
    console.print(report.render(samples, environment))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 100
    assert "…" not in text
    duplicates = sum(sample.value for sample in samples if (sample.contender, sample.metric) == ("instagram", "duplicates"))
    assert re.search(rf"│ Instagram .*│ +{duplicates:,.0f} │", text)
    assert f"{duplicates:,.0f} duplicate keys in 32,000 rows" in text

    generator.save(tmp_path, samples, environment, TINY)
    assert generator.load(tmp_path) == (samples, environment, TINY)
    page = (tmp_path / "generator.md").read_text()
    assert all(label in page for label in (target.label for target in targets.TARGETS))


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_no_server(sent: signal.Signals) -> None:
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)  # the server's user must get in
        command = [sys.executable, "-m", "shardflake.bench.generator", "--quick"]
        run = subprocess.Popen(command, env={**os.environ, "TMPDIR": directory}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in itertools.takewhile(lambda _: run.poll() is None, range(600)):
            if scripts := list(Path(directory).glob("*/script.sql")):  # written when the first load starts
                break
            time.sleep(0.05)
        assert scripts
        run.send_signal(sent)
        run.communicate(timeout=30)
        assert run.returncode not in (0, 1)
        assert list(Path(directory).iterdir()) == []
