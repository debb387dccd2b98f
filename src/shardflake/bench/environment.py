"""What a result depends on and a reader has to know: machine, server, commit."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psycopg

NO_OPENSSL = (
    "This server is built without OpenSSL: gen_random_uuid() and uuidv7() take 3 to 4 times as long as in a distribution's "
    "build, so the uuid rows are slower here than they need be. Use --pg-bin to measure another server."
)

UNDISTURBED = {
    "autovacuum": "off",
    "checkpoint_timeout": "1d",
    "max_wal_size": "16GB",
    "min_wal_size": "1GB",  # segments of WAL are used again, not made: the first contender would pay for them
}
"""Settings of a server of the benchmarks' own: nothing that is not measured runs beside it."""


def describe(connection: psycopg.Connection, seed: int) -> dict[str, Any]:
    """Return the surroundings of a run, ready for JSON; ``notes`` holds what a reader must be told beside the numbers."""
    checkout, dirty = commit()
    configure = connection.execute("select setting from pg_config where name = 'CONFIGURE'").fetchone()
    options = configure[0] if configure else ""
    settings = connection.execute(
        "select name, current_setting(name) from pg_settings where source = 'configuration file' order by name"
    ).fetchall()
    server = connection.execute("select version()").fetchone()
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": checkout,
        "dirty": dirty,
        "seed": seed,
        "shardflake": version("shardflake"),
        "sqlalchemy": version("sqlalchemy"),
        "psycopg": version("psycopg"),
        "python": platform.python_version(),
        "system": platform.platform(),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "server": server[0] if server else "",
        "server_version_num": connection.info.server_version,
        "build_options": options,
        "settings": {name: value for name, value in settings if not name.startswith(("port", "listen", "unix_socket"))},
        "notes": [] if has_ssl(options) else [NO_OPENSSL],
    }


def has_ssl(configure: str) -> bool:
    """Say whether a server was built with an SSL library, from its options for ``configure``."""
    return "ssl" in configure.replace("without-ssl", "")


def commit() -> tuple[str | None, bool | None]:
    """Return the checkout's commit and whether files differ from it; (None, None) outside a checkout."""
    here = Path(__file__).parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(here), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603

    try:
        git("ls-files", "--error-unmatch", "blocks.py")  # an installed package may lie in someone else's repository
        return git("rev-parse", "HEAD"), bool(git("status", "--porcelain"))
    except (OSError, subprocess.CalledProcessError):
        return None, None


def cpu_model() -> str:
    """Return the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()
