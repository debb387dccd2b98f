"""The generator of a worker: ids made here, as long as the lease of the worker id is fresh."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from time import monotonic, monotonic_ns, sleep
from typing import Literal

import sqlalchemy as sa

from shardflake.errors import NoLeaseError
from shardflake.forks import drop_in_children
from shardflake.layout import SHARDFLAKE, Layout
from shardflake.workers.fields import WorkerFields
from shardflake.workers.keeper import Keeper
from shardflake.workers.lease import Lease

ClockPolicy = Literal["refuse", "logical"]

_NS = 1_000_000_000
_SLACK = 8_000_000  # ns that an id may be behind the clock: what a busy process missed while it did not run is made up for
_ONE_STEP: bool = getattr(sys, "_is_gil_enabled", lambda: True)()
_NO_IDS: Iterator[int] = iter(())


@dataclass(slots=True)
class WorkerMetrics:
    """What a generator has done since it was made, in this process.

    :param claims: leases claimed.
    :param renewals: leases prolonged.
    :param failures: claims and renewals that failed or were refused.
    :param lost: leases that were over before they were given back.
    :param waits: calls that waited for the next tick, because the counter was used up or the clock behind.
    :param refusals: calls that raised :class:`~shardflake.errors.NoLeaseError`.
    :param logical: ticks counted past the clock after it was set back.
    """

    claims: int = 0
    renewals: int = 0
    failures: int = 0
    lost: int = 0
    waits: int = 0
    refusals: int = 0
    logical: int = 0


class WorkerGenerator:
    """Makes ids in this process, with a worker id that the shard leases to it.

    The time in the ids is the server's, carried on by this process's monotonic clock from one renewal to the next: the clock
    of this machine may be wrong or be set. No id is later than the mark that the last renewal made durable, and none is made
    once the renewal is older than the lease lasts, less a margin.

    The lease is claimed by the first call, or by ``start()``, and renewed in a thread; ``close()`` gives it back. Safe for
    threads, and after fork: a child claims a lease of its own, and forgets the engine's connections without closing them.

    :param engine: an engine on the database that leases the worker ids; PostgreSQL, any synchronous driver.
    :param layout: a format with a field for the time, one for a counter, and room for the worker.
    :param worker: a certain worker id; None takes the lowest that is free.
    :param holder: who holds the lease, for people; the host's name and process id by default.
    :param clock: what to do while the server's clock is behind the ids by more than ``max_step``: refuse, or count on as a
        logical clock, up to the mark.
    :param max_step: seconds by which the clock may be behind the ids; it is waited for.
    :param margin: seconds before the end of the lease after which nothing is issued.
    :param renew_every: seconds between renewals.
    :param timeout: seconds to wait for a lease before refusing.
    :raises InvalidIdError: for a layout that no worker can use, or a worker id that does not fit it.
    """

    def __init__(
        self,
        engine: sa.Engine,
        layout: Layout = SHARDFLAKE,
        *,
        worker: int | None = None,
        holder: str | None = None,
        clock: ClockPolicy = "refuse",
        max_step: float = 1.0,
        margin: float = 1.0,
        renew_every: float = 3.0,
        timeout: float = 25.0,
    ) -> None:
        self._fields = WorkerFields(layout)
        if worker is not None:
            self._fields.check_worker(worker)
        if not (margin > 0 and renew_every > 0 and max_step >= 0 and timeout >= 0):
            raise ValueError(
                f"margin {margin}, renew_every {renew_every}, max_step {max_step} and timeout {timeout} are seconds"
            )
        self._logical = clock == "logical"
        self._max_step = round(max_step * _NS)
        self._margin = round(margin * _NS)
        self._timeout = timeout
        self._tick = -1
        self.metrics = WorkerMetrics()
        self._keeper = Keeper(engine, self, holder, worker, renew_every)
        self._reset()
        drop_in_children(self)

    def _reset(self) -> None:
        """Hold no lease, and locks that nobody holds."""
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._lease: Lease | None = None
        self._close_tick()

    @property
    def worker(self) -> int | None:
        """The worker id held, None without a lease that still lasts."""
        lease = self._lease
        return lease.worker if lease is not None and self._fresh(lease) else None

    def start(self) -> WorkerGenerator:
        """Claim the lease now.

        :raises NoLeaseError: if there is none within ``timeout``.
        """
        with self._lock:
            self._wait_for_lease()
        return self

    def next_id(self) -> int:
        """Return an id that nobody else has, larger than every one before it under the same lease.

        Waits for the next tick when the counter is used up, and for a lease when there is none.

        :raises NoLeaseError: if there is no lease within ``timeout``, or the clock was set back too far.
        """
        # No lock here: taking one from an iterator over a range is one step under the GIL. A thread that is stopped in between
        # takes its id from a tick that this process alone was given, however late; the mark keeps every other holder off it.
        if _ONE_STEP and monotonic() < self._tick_ends:
            for value in self._ids:
                return value
        with self._lock:
            if monotonic() < self._tick_ends:
                for value in self._ids:
                    return value
            while True:
                self._open_tick()
                for value in self._ids:
                    return value

    def _id_at_hand(self) -> int | None:
        """Return an id of the present tick, or open a tick that has begun; None if that would mean to wait."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            now = monotonic()
            if now >= self._tick_ends and (lease := self._lease) is not None and self._fresh(lease):
                if self._next_tick(lease, monotonic_ns() + lease.offset)[1] > 0:
                    return None
                self._open_tick()
            return next(self._ids, None) if now < self._tick_ends else None
        finally:
            self._lock.release()

    def next_ids(self, count: int) -> list[int]:
        """Return ids that nobody else has, ascending under one lease.

        :param count: how many, 0 or more.
        :raises ValueError: for a negative count.
        :raises NoLeaseError: as :meth:`next_id`; the ids drawn up to then are lost.
        """
        if count < 0:
            raise ValueError(f"cannot make {count} ids")
        ids: list[int] = []
        with self._lock:
            if monotonic() < self._tick_ends:
                ids += islice(self._ids, count)
            while len(ids) < count:
                self._open_tick()
                ids += islice(self._ids, count - len(ids))
        return ids

    def close(self) -> None:
        """Give the lease back and stop renewing; a later call claims anew."""
        self._keeper.stop()
        with self._lock:
            lease, self._lease = self._lease, None
            self._close_tick()
            used = self._used()
        if lease is not None:
            self._keeper.give_back(lease, max(used, lease.floor))

    def __enter__(self) -> WorkerGenerator:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.close()

    def _close_tick(self) -> None:
        self._ids = _NO_IDS
        self._tick_ends = float("-inf")

    def _open_tick(self) -> None:
        """Go over to the next tick that this worker may use, waiting for it; the lock is held, and given up while waiting."""
        waited = False
        while True:
            if waited and monotonic() < self._tick_ends:
                return  # another thread has opened one meanwhile
            lease = self._wait_for_lease()
            now = monotonic_ns()
            tick, ahead = self._next_tick(lease, now + lease.offset)
            if ahead <= 0:
                break
            if ahead > self._max_step:
                if not self._logical:
                    self._refuse(f"the clock of the server is {ahead / 1e6:.0f} ms behind the ids of worker {lease.worker}")
                self.metrics.logical += 1
                break
            if not waited:
                self.metrics.waits += 1
                waited = True
            if ahead > 300_000:  # sleeping takes some 60 µs longer than asked for, and more on a busy machine
                self._sleep((ahead - 200_000) / _NS)
        if self._time(tick + 1) > lease.high_water:
            self._refuse(
                f"worker {lease.worker} has used up its lease: its clock is ahead of the server's, or counting runs ahead"
            )
        if tick > self._fields.last_tick:
            self._refuse(f"the time field of layout {self._fields.layout.name} ends at {self._fields.layout.last_time}")
        self._tick = tick
        self._ids = iter(self._fields.ids(tick, lease.worker))
        ends = self._time(tick + 1) + _SLACK - lease.offset if ahead <= 0 else now + self._fields.tick_ns
        self._tick_ends = min(ends, self._deadline(lease)) / _NS

    def _next_tick(self, lease: Lease, time: int) -> tuple[int, int]:
        """Return the tick to open at a time, and by how many nanoseconds it lies ahead."""
        now = (time - self._fields.epoch_ns) // self._fields.tick_ns
        after = (lease.floor - self._fields.epoch_ns) // self._fields.tick_ns + 1  # a tick that begins after the floor
        next_one = self._tick + 1
        tick = max(after, next_one if self._time(next_one) >= time - _SLACK else now)
        return tick, self._time(tick) - time

    def _time(self, tick: int) -> int:
        """Return when a tick begins, nanoseconds since 1970."""
        return self._fields.epoch_ns + tick * self._fields.tick_ns

    def _deadline(self, lease: Lease) -> int:
        """Return ``monotonic_ns()`` after which nothing is issued under a lease."""
        return lease.expires - self._margin

    def _used(self) -> int:
        """Return the end of the last tick opened, nanoseconds since 1970; 0 before the first."""
        return self._time(self._tick + 1) if self._tick >= 0 else 0

    def _sleep(self, seconds: float) -> None:
        self._lock.release()
        try:
            sleep(seconds)
        finally:
            self._lock.acquire()

    def _wait_for_lease(self) -> Lease:
        """Return a lease that still lasts; the lock is held, and given up while waiting."""
        give_up = monotonic() + self._timeout
        while True:
            lease = self._lease
            if lease is not None and self._fresh(lease):
                return lease
            self._keeper.wake()
            if self._keeper.hopeless:
                self._refuse("no worker id can be leased", self._keeper.error)
            if (left := give_up - monotonic()) <= 0:
                self._refuse(f"no worker id could be leased within {self._timeout} s", self._keeper.error)
            self._changed.wait(min(left, 1.0))

    def _refuse(self, reason: str, cause: BaseException | None = None) -> None:
        self.metrics.refusals += 1
        detail = f": {cause}" if cause is not None else ""
        raise NoLeaseError(f"{reason}{detail}") from cause

    def _arrived(self, lease: Lease, stopping: threading.Event, *, claimed: bool) -> None:
        """Take over what the keeper has claimed or renewed, unless it was told to stop meanwhile."""
        self._fields.check_worker(lease.worker)
        with self._changed:
            if stopping.is_set():
                return
            if claimed:
                self.metrics.claims += 1
                self.metrics.lost += self._lease is not None
                self._close_tick()
            else:
                self.metrics.renewals += 1
            self._lease = lease
            self._changed.notify_all()

    def _lost(self, lease: Lease) -> None:
        with self._changed:
            if self._lease is lease:
                self.metrics.lost += 1
                self._lease = None
                self._close_tick()

    def _failed(self) -> None:
        with self._changed:
            self.metrics.failures += 1
            self._changed.notify_all()

    def _fresh(self, lease: Lease) -> bool:
        """Say whether ids may still be issued under a lease."""
        return monotonic_ns() < self._deadline(lease)

    def _after_fork(self) -> None:
        self._reset()
        self._keeper.after_fork()

    def _snapshot(self) -> tuple[Lease | None, int]:
        """Return the lease and the time used up to now."""
        with self._lock:
            return self._lease, self._used()
