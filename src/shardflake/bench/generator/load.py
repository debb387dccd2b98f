"""Load drivers: each fills an empty table with one kind of key, and returns what it measured by metric."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from shardflake.bench.generator.contenders import PAYLOAD, SINGLE_ROW, Contender
from shardflake.server import LocalServer

SESSIONS = 8
Metrics = dict[str, float]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much each section does.

    :param bulk_statements: statements of 1,000 rows, per session.
    :param async_rows: rows with asynchronous commit, per session.
    :param sync_rows: rows with synchronous commit, per session.
    :param copy_rows: rows of one COPY.
    :param loop_ids: ids that one session draws one by one.
    :param batch_calls: calls of next_ids(10000).
    :param objects: ORM objects of one flush.
    """

    bulk_statements: int = 125
    async_rows: int = 8000
    sync_rows: int = 1500
    copy_rows: int = 300_000
    loop_ids: int = 3_000_000
    batch_calls: int = 100
    objects: int = 5000


@dataclass(frozen=True, slots=True)
class Stage:
    """One block's database, with the generator installed.

    :param url: of the database.
    :param connection: autocommitting, for what is not timed.
    """

    server: LocalServer
    url: str
    connection: psycopg.Connection
    sizes: Sizes


def bulk(stage: Stage, contender: Contender) -> Metrics:
    """Insert statements of 1,000 rows from 8 sessions; also measures index and WAL bytes per row, and counts duplicates."""
    _prepare(stage, contender)
    start_lsn = _wal_position(stage)
    rate = 1000 * _pgbench(stage, contender.bulk, stage.sizes.bulk_statements, synchronous=False)
    written = _wal_position(stage) - start_lsn
    rows = SESSIONS * stage.sizes.bulk_statements * 1000
    found, duplicates, index_bytes = _one_row(
        stage, "select count(*), count(*) - count(distinct id), pg_relation_size('load_id') from load"
    )
    if found != rows:
        raise RuntimeError(f"{contender.label}: {rows} rows were inserted, the table holds {found}")
    return {
        "rows_per_s": rate,
        "index_bytes_per_row": index_bytes / rows,
        "wal_bytes_per_row": written / rows,
        "rows": rows,
        "duplicates": duplicates,
    }


def single_async(stage: Stage, contender: Contender) -> Metrics:
    """Insert autocommitted rows from 8 sessions by a prepared statement, with asynchronous commit."""
    _prepare(stage, contender)
    return {"rows_per_s": _pgbench(stage, SINGLE_ROW, stage.sizes.async_rows, synchronous=False)}


def single_sync(stage: Stage, contender: Contender) -> Metrics:
    """Insert autocommitted rows from 8 sessions by a prepared statement, with synchronous commit."""
    _prepare(stage, contender)
    return {"rows_per_s": _pgbench(stage, SINGLE_ROW, stage.sizes.sync_rows, synchronous=True)}


def copy(stage: Stage, contender: Contender) -> Metrics:
    """COPY rows without their key from one session; the client does no more than send bytes that it holds ready."""
    _prepare(stage, contender)
    data = f"{PAYLOAD}\n".encode() * stage.sizes.copy_rows
    with psycopg.connect(stage.url) as session, session.cursor() as cursor:
        cursor.execute("set synchronous_commit = off")
        session.commit()
        start = time.perf_counter()
        with cursor.copy("copy load (payload) from stdin") as stream:
            for offset in range(0, len(data), 1 << 20):
                stream.write(data[offset : offset + (1 << 20)])
        session.commit()
        return {"seconds": time.perf_counter() - start}


WORKLOADS: dict[str, Callable[[Stage, Contender], Metrics]] = {
    "bulk": bulk,
    "single_async": single_async,
    "single_sync": single_sync,
    "copy": copy,
}


def _prepare(stage: Stage, contender: Contender) -> None:
    """Make an empty table and write everything older to disk, so that no checkpoint falls into what is timed."""
    stage.connection.execute("drop table if exists load")
    for statement in contender.ddl():
        stage.connection.execute(statement)
    stage.connection.execute("checkpoint")


def _pgbench(stage: Stage, statement: str, per_session: int, *, synchronous: bool) -> float:
    """Run a prepared statement in every session, one transaction each time.

    :returns: transactions per second, without the time to connect.
    :raises RuntimeError: if one failed, or a checkpoint fell into the run.
    """
    script = Path(stage.server.base) / "script.sql"
    script.write_text(f"{statement};\n")
    commit = "on" if synchronous else "off"
    conninfo = make_conninfo(stage.url, options=f"-c synchronous_commit={commit}")
    checkpoint = _one_row(stage, "select checkpoint_lsn from pg_control_checkpoint()")
    output = stage.server.run(
        "pgbench",
        *("-n", "-M", "prepared", "-c", str(SESSIONS), "-j", "2", "-t", str(per_session), "-f", str(script), conninfo),
    )
    if _one_row(stage, "select checkpoint_lsn from pg_control_checkpoint()") != checkpoint:
        raise RuntimeError("a checkpoint fell into a timed section; let max_wal_size be larger")
    done = re.search(r"actually processed: (\d+)/(\d+)", output)
    rate = re.search(r"tps = ([\d.]+) \(without initial connection time\)", output)
    if done is None or rate is None or done[1] != done[2]:
        raise RuntimeError(f"pgbench did not finish its work: {output.strip()[-500:]}")
    return float(rate[1])


def _wal_position(stage: Stage) -> int:
    return int(_one_row(stage, "select pg_current_wal_insert_lsn() - '0/0'")[0])


def _one_row(stage: Stage, query: str) -> tuple[int, ...]:
    row = stage.connection.execute(query.encode()).fetchone()
    if row is None:
        raise RuntimeError(f"no row from {query}")
    return row
