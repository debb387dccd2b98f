"""A lease of a worker id, as this process sees it: by its monotonic clock, between two marks."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from shardflake.connect import translate_errors

_CLAIM = sa.text("select * from shardflake.claim_worker(:holder, worker => cast(:worker as integer))")
_RENEW = sa.text("select * from shardflake.renew_worker(:worker, cast(:token as uuid), :high_water_ms, :used_ms)")
_RELEASE = sa.text("select shardflake.release_worker(:worker, cast(:token as uuid), :used_ms)")

_NS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Lease:
    """What a claim or a renewal has brought; everything in nanoseconds.

    :param floor: the holder's ids are of times after this one, since 1970; the server's clock.
    :param high_water: and up to this one.
    :param offset: what to add to ``time.monotonic_ns()`` to get the server's clock.
    :param expires: ``time.monotonic_ns()`` when the server may give the worker id to someone else, at the earliest.
    :param ttl: how long a lease lasts.
    """

    worker: int
    token: UUID
    floor: int
    high_water: int
    offset: int
    expires: int
    ttl: int


@dataclass(frozen=True, slots=True)
class Later:
    """No lease now: try again after so many seconds."""

    seconds: float


def claim(engine: sa.Engine, holder: str, worker: int | None) -> Lease | Later:
    """Claim a worker id.

    :param worker: a certain one; None takes the lowest that is free.
    :raises WorkerHeldError: if someone else holds the certain one.
    :raises ShardflakeError: for whatever else the server says.
    """
    sent = time.monotonic_ns()
    row = _committed(engine, _CLAIM, holder=holder, worker=worker)
    if row.worker_id is None:
        return Later(row.retry_ms / 1000)
    received = time.monotonic_ns()
    return Lease(
        worker=row.worker_id,
        token=UUID(str(row.token)),
        floor=row.floor_ms * _NS_PER_MS,
        high_water=row.high_water_ms * _NS_PER_MS,
        offset=_offset(sent, received, row.server_us),
        expires=sent + row.ttl_ms * _NS_PER_MS,
        ttl=row.ttl_ms * _NS_PER_MS,
    )


def renew(engine: sa.Engine, lease: Lease, used: int) -> Lease:
    """Prolong a lease.

    :param used: the latest time in the holder's ids, in nanoseconds since 1970.
    :raises LeaseLostError: if it is over.
    :raises ShardflakeError: for whatever else the server says.
    """
    sent = time.monotonic_ns()
    row = _committed(
        engine,
        _RENEW,
        worker=lease.worker,
        token=str(lease.token),
        high_water_ms=lease.high_water // _NS_PER_MS,
        used_ms=-(-used // _NS_PER_MS),
    )
    received = time.monotonic_ns()
    return replace(
        lease,
        high_water=row.high_water_ms * _NS_PER_MS,
        offset=_offset(sent, received, row.server_us),
        expires=sent + row.ttl_ms * _NS_PER_MS,
        ttl=row.ttl_ms * _NS_PER_MS,
    )


def release(engine: sa.Engine, lease: Lease, used: int) -> None:
    """End a lease early; ``used`` as for :func:`renew`, and nothing is issued after it."""
    _committed(engine, _RELEASE, worker=lease.worker, token=str(lease.token), used_ms=-(-used // _NS_PER_MS))


def _committed(engine: sa.Engine, statement: sa.TextClause, **values: Any) -> Any:
    """Return the row of a statement once it is durable: what a transaction says before its commit is nothing to rely on."""
    with translate_errors(), engine.connect() as connection:
        row = connection.execute(statement, values).one()
        connection.commit()
    return row


def _offset(sent: int, received: int, server_us: int) -> int:
    """Return how far the server's clock is ahead of ours; wrong by half a round trip at most."""
    return server_us * 1000 - (sent + received) // 2
