"""Run pgbench and read what it logged."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from psycopg.conninfo import make_conninfo

from shardflake.bench.scratch import Bench
from shardflake.errors import ConnectionFailedError, ServerError

_LOOK_EVERY_S = 0.02
WAITS = {
    "waiting_lwlock": "LWLock",
    "waiting_lock": "Lock",
    "waiting_io": "IO",
    "waiting_ipc": "IPC",
}
"""Metrics of what sessions wait for, by ``wait_event_type``. What is left is running, or waiting for a processor."""
_LOGGED = 0.3
"""Share of many transactions whose latency is logged: a log of all of them takes 4 % of the processor time."""
_MANY = 5_000
_PERCENTILES = {"latency_p50_us": 50, "latency_p95_us": 95, "latency_p99_us": 99, "latency_p999_us": 99.9}


@dataclass(frozen=True, slots=True)
class Load:
    """What pgbench did.

    :param transactions_per_second: without the time to connect.
    :param latencies: of the transactions, or of three in ten of many, microseconds; empty if not logged.
    :param cpu_s: processor time of its sessions on the server, None where it cannot be seen.
    :param client_cpu_s: processor time of pgbench itself.
    :param looks: how often a session was seen at work, by what it waited for; "" is nothing.
    """

    transactions_per_second: float
    latencies: NDArray[np.int64]
    cpu_s: float | None
    client_cpu_s: float
    looks: Counter[str]

    def percentiles(self) -> dict[str, float]:
        """Return percentiles of the latency by metric."""
        return {metric: float(np.percentile(self.latencies, part)) for metric, part in _PERCENTILES.items()}

    def waits(self) -> dict[str, float]:
        """Return what share of the looks found a session waiting, by metric; empty if there were none."""
        total = self.looks.total()
        return {metric: self.looks[kind] / total for metric, kind in WAITS.items()} if total else {}


def run(
    bench: Bench, statements: Sequence[str], clients: int, transactions: int, *, synchronous: bool = False, log: bool = True
) -> Load:
    """Run a script in sessions of prepared statements.

    :param statements: one transaction of the script.
    :param clients: sessions at once.
    :param transactions: for each session.
    :param synchronous: whether commits wait for the disk.
    :raises ConnectionFailedError: the server was lost.
    :raises ServerError: it refused the statement.
    """
    with tempfile.TemporaryDirectory(prefix="shardflake-pgbench-") as directory:
        script = Path(directory) / "script.sql"
        script.write_text("".join(f"{statement};\n" for statement in statements))
        options = f"-c synchronous_commit={'on' if synchronous else 'off'}"
        command = [str(bench.pgbench), "-n", "-M", "prepared", "-c", str(clients), "-j", str(min(clients, os.cpu_count() or 1))]
        command += ["-t", str(transactions), "-f", str(script)]
        share = _LOGGED if clients * transactions >= _MANY else 1
        command += ["-l", "--sampling-rate", str(share), "--log-prefix", str(Path(directory) / "log")] if log else []
        before, client_before = reaped(bench), _children()
        done, looks = _watched(bench, [*command, make_conninfo(bench.url, options=options)], directory, watch=log)
        client_cpu = _children() - client_before
        cpu = reaped_since(bench, before, "pgbench")
        latencies = _latencies(Path(directory))
    return Load(_rate(done), latencies, cpu, client_cpu, looks)


def _watched(
    bench: Bench, command: list[str], directory: str, *, watch: bool
) -> tuple[subprocess.CompletedProcess[str], Counter[str]]:
    """Run pgbench to its end; meanwhile look at what its sessions wait for, fifty times a second."""
    looks: Counter[str] = Counter()
    query = (
        "select coalesce(wait_event_type, ''), count(*) from pg_stat_activity "
        "where application_name = 'pgbench' and state = 'active' and wait_event_type is distinct from 'Client' group by 1"
    )
    with subprocess.Popen(  # noqa: S603
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=directory,
        env={**os.environ, "LC_ALL": "C"},
    ) as process:
        try:
            while True:
                try:
                    out, errors = process.communicate(timeout=_LOOK_EVERY_S if watch else None)
                except subprocess.TimeoutExpired:
                    looks.update(dict(bench.connection.execute(query).fetchall()))
                else:
                    return subprocess.CompletedProcess(command, process.returncode, out, errors), looks
        except BaseException:
            process.kill()
            raise


def _rate(done: subprocess.CompletedProcess[str]) -> float:
    """Return transactions per second from pgbench's output."""
    count = re.search(r"actually processed: (\d+)/(\d+)", done.stdout)
    rate = re.search(r"tps = ([\d.]+) \(without initial connection time\)", done.stdout)
    if done.returncode != 0 or count is None or rate is None or count[1] != count[2]:
        text = done.stderr.strip()[-1000:]
        if re.search(r"connection to server|server closed|terminating connection|perhaps the backend died", text):
            raise ConnectionFailedError(f"pgbench lost the server: {text}")
        raise ServerError(f"pgbench did not finish its work: {text}", None)
    return float(rate[1])


def _latencies(directory: Path) -> NDArray[np.int64]:
    """Return the third field of every line of the logs: client, transaction, microseconds, …"""
    parts = [np.loadtxt(path, dtype=np.int64, usecols=2, ndmin=1) for path in directory.glob("log.*") if path.stat().st_size]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _children() -> float:
    """Return the processor seconds of all programs that this process has run to their end."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def reaped(bench: Bench) -> float:
    """Return the processor seconds of all sessions that have ended, as the postmaster has added them up."""
    if bench.server is None or "cpu" not in bench.can:
        return 0.0
    fields = Path(f"/proc/{bench.server.postmaster_pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def reaped_since(bench: Bench, before: float, application: str, staying: int = 0) -> float | None:
    """Return the processor seconds of sessions that have ended since, once an application's have.

    :param staying: how many sessions of that application stay.
    """
    if "cpu" not in bench.can:
        return None
    for _ in range(200):
        (left,) = bench.one("select count(*) from pg_stat_activity where application_name = %s", application)
        if left <= staying:
            break
        time.sleep(0.01)
    return reaped(bench) - before
