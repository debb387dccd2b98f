"""Claims and renews the lease of a generator, in a thread of its own, for as long as the generator is open."""

from __future__ import annotations

import os
import socket
import threading
from time import monotonic
from typing import Protocol

import sqlalchemy as sa

from shardflake.errors import (
    DurabilityError,
    GeneratorError,
    InvalidIdError,
    LeaseLostError,
    ServerError,
    ShardflakeError,
    WorkerHeldError,
)
from shardflake.workers.lease import Later, Lease, claim, release, renew

_STUCK = 10.0  # seconds in one round trip after which a waiting caller gives up on it: the network may be gone without a word
_RETRY = 0.5  # seconds
_NOT_INSTALLED = ("3F000", "42501", "42883")  # no schema, no privilege, no function


class Holder(Protocol):
    """What the keeper needs of a generator."""

    def _snapshot(self) -> tuple[Lease | None, int]: ...
    def _fresh(self, lease: Lease) -> bool: ...
    def _arrived(self, lease: Lease, stopping: threading.Event, *, claimed: bool) -> None: ...
    def _lost(self, lease: Lease) -> None: ...
    def _failed(self) -> None: ...


class Keeper:
    """Keeps one generator's lease.

    :param worker: a certain worker id, or None.
    :param every: seconds between renewals.
    """

    def __init__(self, engine: sa.Engine, generator: Holder, holder: str | None, worker: int | None, every: float) -> None:
        self._engine = engine
        self._generator = generator
        self._holder = holder
        self._worker = worker
        self._every = every
        self.error: Exception | None = None
        self._forget()

    def _forget(self) -> None:
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._woken = threading.Event()
        self._trying_since: float | None = None

    @property
    def hopeless(self) -> bool:
        """Whether trying again will bring the same error until someone mends the database or the configuration."""
        error = self.error
        if isinstance(error, WorkerHeldError | LeaseLostError | DurabilityError):
            return False
        return isinstance(error, GeneratorError | InvalidIdError) or getattr(error, "sqlstate", None) in _NOT_INSTALLED

    def wake(self) -> None:
        """See to it that someone is trying to get a lease."""
        since = self._trying_since
        if since is not None and monotonic() - since > _STUCK:
            self._stopping.set()
            self._forget()
        if self._thread is None or not self._thread.is_alive():
            self.error = None
            self._thread = threading.Thread(target=self._run, args=(self._stopping,), name="shardflake-worker", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop renewing, and wait for a round trip that is under way."""
        thread = self._thread
        self._stopping.set()
        self._woken.set()
        if thread is not None:
            thread.join(_STUCK)
        self._forget()

    def after_fork(self) -> None:
        """Start anew in a child: its parent's thread and connections are not its own."""
        self._forget()
        self._engine.dispose(close=False)

    def give_back(self, lease: Lease, used: int) -> None:
        """Release a lease; if that fails it runs out by itself."""
        try:
            release(self._engine, lease, used)
        except ShardflakeError as error:
            self.error = error
            self._generator._failed()

    def _run(self, stopping: threading.Event) -> None:
        woken = self._woken
        while not stopping.is_set():
            self._trying_since = monotonic()
            pause = self._try(stopping)
            if stopping.is_set():
                return
            self._trying_since = None
            woken.wait(pause)

    def _try(self, stopping: threading.Event) -> float:
        """Claim or renew once, and return how many seconds to wait before the next time."""
        lease, used = self._generator._snapshot()
        try:
            if lease is not None and self._generator._fresh(lease):
                self._generator._arrived(renew(self._engine, lease, used), stopping, claimed=False)
                self.error = None
                return self._every
            # one that ran out is not renewed, even if the server would: a failover may have forgotten who came after it
            holder = self._holder or f"{socket.gethostname()}:{os.getpid()}"
            claimed = claim(self._engine, holder, self._worker)
            if isinstance(claimed, Later):
                self.error = ServerError("no worker id is free, or leases of before a failover may still run", None)
                return min(claimed.seconds, 1.0)
            self._generator._arrived(claimed, stopping, claimed=True)
            self.error = None
            return self._every
        except LeaseLostError as error:
            self.error = error
            assert lease is not None  # noqa: S101  (claims do not raise it)
            self._generator._lost(lease)
            return 0.0
        except Exception as error:  # of the server, the driver or the network: whatever it was, the lease runs on or out
            self.error = error
            self._generator._failed()
            return _RETRY
