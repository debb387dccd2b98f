"""Run workloads in randomised blocks on one server, and keep every number as it comes."""

from __future__ import annotations

import os
import platform
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg

from shardflake.bench import scratch
from shardflake.bench.contenders import Contender
from shardflake.bench.environment import UNDISTURBED, commit, cpu_model, has_ssl
from shardflake.bench.profiles import Profile
from shardflake.bench.scratch import Bench
from shardflake.bench.section import Params, Section
from shardflake.bench.store import Emit, Record, Store
from shardflake.bench.workloads.base import Workload
from shardflake.connect import translate_errors
from shardflake.demo.interrupts import Interrupts
from shardflake.errors import ConnectionFailedError, InstallationError, from_driver
from shardflake.server import LocalServer

Progress = Callable[[str, int, int], None]
"""Called before each step with what it is, how many are done, and how many there are."""

SETTINGS = {**UNDISTURBED, "wal_level": "replica"}
_REPORTED = [
    "shared_buffers",
    "fsync",
    "synchronous_commit",
    "wal_compression",
    "full_page_writes",
    "max_wal_size",
    "checkpoint_timeout",
    "autovacuum",
    "wal_level",
    "wal_buffers",
    "max_connections",
    "jit",
]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run.

    :param url: of a database of the user's; None starts a server of our own.
    :param pg_bin: programs of that server; the embedded ones by default.
    :param seed: of keys and orders.
    """

    profile: Profile
    contenders: Sequence[Contender]
    workloads: Sequence[Workload]
    seed: int
    url: str | None = None
    pg_bin: Path | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One workload in one block: complete or measured again, never in parts."""

    block: int
    workload: Workload


def run(plan: Plan, directory: Path, progress: Progress, *, resume: bool = False) -> Path:
    """Measure, and write ``results.ndjson`` into a directory.

    :param resume: go on with a run that was cut, whose profile, contenders and seed the plan must have.
    :returns: the path of the results.
    :raises ShardflakeError: what was measured until then is kept, and the scratch schemas are removed if the server is there.
    """
    begun = time.monotonic()
    header: Record = {}
    done: set[tuple[str, int]] = set()
    store: Store | None = None
    if not resume:
        Store.refuse_existing(directory)
    else:
        store, header, done = Store.resume(directory)
    started = header.get("started") or datetime.now(UTC).isoformat(timespec="seconds")
    with Interrupts() as interrupts, ExitStack() as cleanup:
        with interrupts.held_back():
            bench = _open(plan, f"shardflake bench {started} seed {plan.seed}", cleanup, resumed=resume)
        if store is None:
            store = Store.create(directory, {**_header(plan, bench), "started": started})
        else:
            store.write({"kind": "note", "text": f"resumed after {len(done)} blocks", "resumed": True})
        cleanup.callback(store.close)
        with _kept(directory):
            _run_steps(plan, bench, store.write, done, progress)
        interrupts.over = True
        store.write({
            "kind": "end",
            "ended": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round(time.monotonic() - begun, 3),
        })  # fmt: skip
        return store.path


def _open(plan: Plan, name: str, cleanup: ExitStack, *, resumed: bool) -> Bench:
    """Start or reach the server, check disk and privileges, make the scratch schemas; all is undone with ``cleanup``."""
    server = None
    if plan.url is None:
        base = Path(tempfile.gettempdir())
        free, needed = shutil.disk_usage(base).free, plan.profile.disk_bytes
        if free < needed:
            raise InstallationError(
                f"{base} has {free >> 20:,} MiB free, profile {plan.profile.name} may need {needed >> 20:,}; "
                "set TMPDIR to a larger disk, or take a smaller profile"
            )
        server = LocalServer(plan.pg_bin, {**SETTINGS, "shared_buffers": plan.profile.shared_buffers})
        cleanup.callback(server.remove)
        server.create().start()
    url = server.url() if server else plan.url or ""
    bench = scratch.prepare(url, server, name, plan.seed, resumed=resumed)
    cleanup.callback(scratch.remove, url)
    cleanup.callback(bench.connection.close)  # first: what it still does must not hold up the removal
    if server is None:
        _warn(bench, plan.profile)
    return bench


def _warn(bench: Bench, profile: Profile) -> None:
    """Note what a reader must know of a server that is not ours."""
    bench.warnings.append(
        f"The server's disk cannot be seen from here: the run may need {profile.disk_bytes >> 20:,} MiB for data and WAL."
    )
    bench.warnings.append("Other sessions of the server count in wal_bytes_per_row and wal_other.")


def _run_steps(plan: Plan, bench: Bench, emit: Emit, done: set[tuple[str, int]], progress: Progress) -> None:
    steps = [step for step in _steps(plan, bench) if (step.workload.name, step.block) not in done]
    sections = [_sections(plan, bench, step, emit) for step in steps]
    total, number = sum(map(len, sections)), 0
    for step, of_step in zip(steps, sections, strict=True):
        for section in of_step:
            progress(f"{step.workload.name}, block {step.block + 1}: {section.contender.label}", number, total)
            bench.had_checkpoint()
            step.workload.run(section, plan.profile)
            if bench.had_checkpoint():
                text = f"A checkpoint that the benchmark did not ask for ran during {step.workload.name}"
                emit({"kind": "note", "text": f"{text}, {section.contender.label}, block {step.block + 1}."})
            number += 1
        emit({"kind": "block", "workload": step.workload.name, "block": step.block, "params": {}})


def _steps(plan: Plan, bench: Bench) -> Iterator[Step]:
    """Yield the steps, block by block, the workloads of each block in random order."""
    able = [workload for workload in plan.workloads if workload.needs <= bench.can]
    for block in range(max((plan.profile.blocks_of(workload.name) for workload in able), default=0)):
        chosen = [workload for workload in able if block < plan.profile.blocks_of(workload.name)]
        random.Random(f"{plan.seed}/{block}").shuffle(chosen)  # noqa: S311  (an order, not a secret)
        yield from (Step(block, workload) for workload in chosen)


def _sections(plan: Plan, bench: Bench, step: Step, emit: Emit) -> list[Section]:
    """Return a step's sections: cases in random order, and the contenders within each."""
    chance = random.Random(f"{plan.seed}/{step.block}/{step.workload.name}")  # noqa: S311
    cases: list[Params] = list(step.workload.cases(plan.profile))
    chance.shuffle(cases)
    contenders = step.workload.contenders(plan.contenders, bench)
    return [
        Section(bench, emit, step.workload.name, contender, step.block, case)
        for case in cases
        for contender in chance.sample(contenders, len(contenders))
    ]


@contextmanager
def _kept(directory: Path) -> Iterator[None]:
    """Say of a lost server that what was measured is kept."""
    again = f"What was measured is kept: shardflake bench run --resume {directory} goes on."
    try:
        with translate_errors():
            yield
    except psycopg.OperationalError as error:
        raise ConnectionFailedError(f"the server was lost: {str(error).strip()}\n{again}") from error
    except ConnectionFailedError as error:
        raise ConnectionFailedError(f"{error}\n{again}") from error
    except psycopg.Error as error:
        raise from_driver(error) or error from error


def _header(plan: Plan, bench: Bench) -> Record:
    """Return the surroundings of a run."""
    checkout, dirty = commit()
    present: Mapping[str, Any] = dict(
        bench.connection.execute("select name, current_setting(name) from pg_settings where name = any (%s)", (_REPORTED,))
    )
    (version,) = bench.one("select version()")
    options = ""
    if bench.one("select has_table_privilege('pg_config', 'select')")[0]:
        (options,) = bench.one("select coalesce((select setting from pg_config where name = 'CONFIGURE'), '')")  # type: ignore[assignment]
    warnings = list(bench.warnings)
    if present["fsync"] == "off":
        warnings.append("fsync is off on this server: nothing waits for the disk, and times say nothing about durable commits.")
    if present["autovacuum"] == "on":
        warnings.append("autovacuum is on for this server; it is off for the benchmark's own tables.")
    return {
        "profile": plan.profile.name,
        "commit": checkout,
        "dirty": bool(dirty),
        "seed": plan.seed,
        "machine": {
            "cpu": cpu_model(),
            "cores": os.cpu_count(),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "os": platform.platform(),
            "python": platform.python_version(),
        },
        "server": {
            "version": version,
            "version_num": bench.connection.info.server_version,
            "build_options": str(options).split(),
            "settings": present,
            "ssl_library": has_ssl(str(options)),
        },
        "own_server": plan.url is None,
        "contenders": [contender.describe() for contender in plan.contenders],
        "workloads": [workload.name for workload in plan.workloads],
        "unavailable": bench.unavailable,
        "warnings": warnings,
    }
