"""Behind pgbouncer in transaction mode: statements of one client run in many sessions."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from shardflake.server import free_port
from tests.conftest import dsn
from tests.sql.test_functions import scalar

CONFIGURATION = """
[databases]
shard = {target}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
auth_type = any
pool_mode = transaction
default_pool_size = 4
unix_socket_dir =
"""


@pytest.fixture
def pooled(shard: sa.Engine, tmp_path: Path) -> Iterator[str]:
    """The libpq string of shard 5 through pgbouncer."""
    program = shutil.which("pgbouncer")
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("pgbouncer is not installed")
        pytest.skip("pgbouncer is not installed")
    port = free_port()
    target = " ".join(part for part in dsn(shard).split() if not part.startswith("hostaddr="))
    file = tmp_path / "pgbouncer.ini"
    file.write_text(CONFIGURATION.format(target=target, port=port))
    command = [program, str(file)]
    if os.geteuid() == 0:
        for directory in (file, *file.parents[:-1]):
            directory.chmod(directory.stat().st_mode | 0o055)
        command[1:1] = ["-u", "postgres"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            url = f"host=127.0.0.1 port={port} dbname=shard user=postgres"
            _wait_for(url)
            yield url
        finally:
            process.terminate()


def _wait_for(url: str) -> None:
    for _ in range(100):
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return
    pytest.fail("pgbouncer does not answer")


def test_eight_clients_share_four_sessions(pooled: str) -> None:
    ids: list[int] = []

    def draw() -> None:
        with psycopg.connect(pooled, autocommit=True, prepare_threshold=None) as connection:
            for _ in range(300):
                ids.append(scalar(connection, "select shardflake.next_id()"))

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == len(set(ids)) == 2400


def test_a_cancelled_statement_leaves_the_generator_going(pooled: str, connection: psycopg.Connection) -> None:
    with psycopg.connect(pooled, autocommit=True) as client:
        timer = threading.Timer(0.2, client.cancel)
        timer.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            client.execute("select count(shardflake.next_id()) from generate_series(1, 10000000)")
        timer.join()
        assert scalar(connection, "select count(*) from pg_locks where locktype = 'advisory'") == 0
        first = scalar(client, "select shardflake.next_id()")
        assert scalar(connection, "select shardflake.next_id()") > first
