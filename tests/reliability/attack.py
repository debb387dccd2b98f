"""What all attacks share: servers whose clock can be set, broken generators, and how an attack's outcome is counted."""

from __future__ import annotations

import os
import subprocess
import threading
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from glob import glob
from pathlib import Path
from typing import Any

import psycopg
import pytest

from shardflake import install
from shardflake.connect import make_engine
from shardflake.errors import ConnectionFailedError
from shardflake.server import LocalServer, embedded_bin_dir

DRAW = "select shardflake.next_id()"


@dataclass(slots=True)
class Outcome:
    """What an attack did to a generator. A sound one has zeros in duplicates, inversions and leaks."""

    attack: str
    rounds: int = 0
    ids: int = 0
    duplicates: int = 0
    inversions: int = 0
    leaks: int = 0
    refusals: int = 0
    reissued: int = 0
    """Ids that came again after a failover, received from the old primary but never in the WAL that the new one has."""
    margin_ms: int | None = None
    """How far the first id of a new primary lay above the last that the old one gave out, ms; the least of all rounds."""
    failures: dict[str, int] = field(default_factory=dict)
    """Errors other than those that the attack itself causes, by SQLSTATE."""

    @property
    def clean(self) -> bool:
        return not (self.duplicates or self.inversions or self.leaks or self.failures)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Clock:
    """The clock of a server, by libfaketime: an offset in a file that the server reads at each look at the time.

    Without the library (Debian's package ``faketime``) a server has the machine's clock, and a test that sets it is skipped.
    """

    def __init__(self, server: LocalServer) -> None:
        self._library = next(iter(glob("/usr/lib/*/faketime/libfaketime.so.1")), None)
        self._file = server.base / "clock"
        self.offset = 0.0
        self._write()
        if self._library is not None:
            server.environment = {
                "LD_PRELOAD": self._library,
                "FAKETIME_TIMESTAMP_FILE": str(self._file),
                "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            }

    def set(self, offset: float) -> None:
        """Set how far the server's clock is ahead of the machine's, in seconds."""
        if self._library is None:
            without = "libfaketime is not installed: apt-get install faketime"
            if os.environ.get("CI"):
                raise ConnectionFailedError(without)
            pytest.skip(without)
        self.offset = offset
        self._write()

    def _write(self) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(f"{self.offset:+.6f}\n")
        new.chmod(0o644)
        os.replace(new, self._file)

    def step(self, seconds: float) -> None:
        """Step the clock forward or back."""
        self.set(self.offset + seconds)


def server_version(bin_dir: Path | None) -> str:
    """Return which server an attack runs on, such as ``18.6``."""
    command: list[str | Path] = [(bin_dir or embedded_bin_dir()) / "postgres", "--version"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    version: str = text.split()[2]
    return version


# libfaketime opens a file at each look at the clock, in signal handlers too, where that can wait for itself: no timers, then.
WITHOUT_TIMERS = {"track_counts": "off", "deadlock_timeout": "1h"}


@contextmanager
def attacked_server(bin_dir: Path | None, layout: str = "shardflake", **settings: str) -> Iterator[LocalServer]:
    """Give a server with shard 5 of a layout in database postgres, durable writes, and the machine's clock."""
    server = LocalServer(bin_dir, {"shared_buffers": "64MB", "log_min_messages": "fatal", **settings})
    try:
        _start(server, layout)
        yield server
    finally:
        server.remove()


@contextmanager
def server_with_clock(bin_dir: Path | None, layout: str = "shardflake", **settings: str) -> Iterator[tuple[LocalServer, Clock]]:
    """Give such a server with a clock that can be set."""
    server = LocalServer(bin_dir, {"shared_buffers": "64MB", "log_min_messages": "fatal", **WITHOUT_TIMERS, **settings})
    try:
        clock = Clock(server)
        _start(server, layout)
        yield server, clock
    finally:
        server.remove()


def _start(server: LocalServer, layout: str) -> None:
    server.create().start()
    install.upgrade(make_engine(server.url()), shard_id=5, layout=layout)


def replace_function(connection: psycopg.Connection, signature: str, *changes: tuple[str, str]) -> None:
    """Break a generator on purpose: put other text into one of its functions.

    :raises AssertionError: if a text to change is not there, so that no control is quietly sound.
    """
    row = connection.execute("select pg_get_functiondef(%s::regprocedure)", (f"shardflake.{signature}",)).fetchone()
    assert row is not None
    text: str = row[0]
    for old, new in changes:
        assert old in text, f"{signature} does not contain {old!r}"
        text = text.replace(old, new)
    connection.execute(text)


def without_flush(connection: psycopg.Connection) -> None:
    """Break the generator: the mark is raised, and nobody waits until it is on disk."""
    connection.execute("create or replace function shardflake._flush_wal() returns void language plpgsql as $$ begin end $$")


def with_session_lock(connection: psycopg.Connection) -> None:
    """Break the generator: a session-level lock, given back by hand at the end, without a subtransaction to end it."""
    unlock = "perform pg_advisory_unlock('shardflake._window'::regclass::oid::integer, 1936287346);\n    "
    replace_function(
        connection,
        "_open_window(integer)",
        ("pg_try_advisory_xact_lock(", "pg_try_advisory_lock("),
        ("pg_advisory_xact_lock(", "pg_advisory_lock("),
        ("raise exception using errcode = 'SFEND';  -- aborts", unlock + "raise exception using errcode = 'SFEND';  -- aborts"),
        ("raise exception using errcode = 'SFEND';  -- opened", unlock + "raise exception using errcode = 'SFEND';  -- opened"),
    )


class Received:
    """Ids that clients received, over all rounds and crashes, with what is wrong with them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: set[int] = set()
        self.ids = 0
        self.duplicates = 0

    def add(self, ids: array[int]) -> None:
        """Take in what one statement returned."""
        with self._lock:
            self.ids += len(ids)
            before = len(self._seen)
            self._seen.update(ids)
            self.duplicates += len(ids) - (len(self._seen) - before)


class Sessions:
    """Threads that work on a server until they are told to stop, or it goes away.

    :param work: called again and again with a connection; it reports ids itself.
    """

    def __init__(self, url: str, work: list[Callable[[psycopg.Connection], None]], outcome: Outcome) -> None:
        self._url = url
        self._outcome = outcome
        self._stopping = threading.Event()
        self.pids: list[int] = []
        self._threads = [threading.Thread(target=self._run, args=(item,), daemon=True) for item in work]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Tell every session to stop, and wait until it has."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(120)
            assert not thread.is_alive(), "a session has not come back within two minutes"

    def _run(self, work: Callable[[psycopg.Connection], None]) -> None:
        try:
            with psycopg.connect(self._url, autocommit=True) as connection:
                self.pids.append(connection.info.backend_pid)
                while not self._stopping.is_set():
                    self._once(connection, work)
        except psycopg.OperationalError:
            pass  # the server went away: that is the attack

    def _once(self, connection: psycopg.Connection, work: Callable[[psycopg.Connection], None]) -> None:
        try:
            work(connection)
        except psycopg.errors.QueryCanceled:
            pass
        except psycopg.OperationalError:
            raise
        except psycopg.Error as error:
            if error.sqlstate == "SF005":
                self._outcome.refusals += 1
                self._stopping.wait(0.01)
            else:
                key = error.sqlstate or type(error).__name__
                self._outcome.failures[key] = self._outcome.failures.get(key, 0) + 1
