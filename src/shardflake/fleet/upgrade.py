"""Plan and upgrade: bring every shard to the newest revision and give it its shard id.

Each shard is upgraded in one transaction and keeps its own version row, so that a run can be interrupted anywhere and repeated.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg

from shardflake import install
from shardflake.errors import ConnectionFailedError, InstallationError
from shardflake.fleet.file import Fleet, Shard
from shardflake.fleet.observe import Probe, one_connection, probe
from shardflake.fleet.pool import Failure, Pool, Stop

FLEET_LOCK = int.from_bytes(b"shrfleet")
"""Key of the advisory lock that keeps a second operator out."""

LOCKS = (
    "an advisory lock of the database, and locks on objects of schema shardflake until the transaction ends; no lock on any "
    "other table. Sessions that draw ids wait while functions that they use are replaced"
)
"""Which locks an upgrade takes in each shard."""

Ready = Callable[["Outcome"], None]


@dataclass(frozen=True, slots=True)
class Step:
    """What an upgrade would do to a shard.

    :param installed: revision that the shard is at; None for none.
    :param actions: in words; empty if there is nothing to do.
    :param problem: why the shard cannot be upgraded.
    """

    shard: Shard
    installed: str | None
    actions: tuple[str, ...] = ()
    problem: str | None = None
    unreachable: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a shard: ``upgraded``, ``unchanged``, ``failed`` or ``skipped``.

    :param before: revision before; None for none.
    :param seconds: that the shard took.
    :param error: of a shard that failed, or why it was skipped.
    """

    shard: Shard
    result: str
    before: str | None = None
    revision: str | None = None
    seconds: float = 0.0
    error: str | None = None


@dataclass(slots=True)
class Limits:
    """When an upgrade stops early.

    :param canary: name of a shard that is upgraded before the others, which are left alone if it fails.
    :param max_failures: failures after which no further shard is begun; None for no limit.
    """

    canary: str | None = None
    max_failures: int | None = None
    stop: Stop = field(default_factory=Stop)


def plan(pool: Pool, fleet: Fleet) -> list[Step]:
    """Return what :func:`upgrade` would do to each shard, in the order of the file; changes nothing.

    A shard whose id, own or logical, another shard has already is found here, before any id is issued.
    """
    probes = dict(pool.run(probe, fleet.shards))
    owners: dict[int, list[Shard]] = defaultdict(list)
    for shard, found in probes.items():
        if isinstance(found, Probe):
            for number in {found.shard_id, *found.logical_shards, *found.backfill_shards} - {None}:
                owners[number or 0].append(shard)
    return [_step(shard, probes[shard], owners) for shard in fleet.shards]


def upgrade(pool: Pool, fleet: Fleet, limits: Limits | None = None, ready: Ready = lambda outcome: None) -> list[Outcome]:
    """Bring every shard to the newest revision and give it its shard id; others go on when one fails.

    Safe to repeat, and to interrupt: Ctrl-C ends the run once the shards under work are finished.

    :param ready: called with each outcome as it comes.
    :returns: an outcome for every shard, in the order of the file.
    :raises InstallationError: if another upgrade of the fleet is running.
    """
    limits = limits or Limits()
    canary = fleet[limits.canary] if limits.canary is not None else None
    with fleet_lock(fleet):
        steps = {step.shard: step for step in plan(pool, fleet)}
        outcomes: dict[Shard, Outcome] = {}

        def note(outcome: Outcome) -> None:
            outcomes[outcome.shard] = outcome
            failures = sum(known.result == "failed" for known in outcomes.values())
            if limits.max_failures is not None and failures > limits.max_failures:
                limits.stop.wanted = True
            ready(outcome)

        for step in steps.values():
            if step.problem is not None:
                note(Outcome(step.shard, "failed", step.installed, step.installed, error=step.problem))
            elif not step.actions:
                note(Outcome(step.shard, "unchanged", step.installed, step.installed))
        waiting = [step.shard for step in steps.values() if step.shard not in outcomes]
        if canary is not None:
            _run(pool, [shard for shard in waiting if shard == canary], steps, limits.stop, note)
            limits.stop.wanted |= outcomes.get(canary, Outcome(canary, "failed")).result == "failed"
        _run(pool, [shard for shard in waiting if shard != canary], steps, limits.stop, note)
        for shard in fleet.shards:
            if shard not in outcomes:
                note(Outcome(shard, "skipped", steps[shard].installed, steps[shard].installed, error="not begun"))
    return [outcomes[shard] for shard in fleet.shards]


@contextmanager
def fleet_lock(fleet: Fleet) -> Iterator[None]:
    """Keep other operators out: a lock in the registry's database, else in the first shard of the file that answers.

    It belongs to a transaction, so that it works through a pooler and is gone with its holder.

    :raises InstallationError: if another operator has it.
    :raises ConnectionFailedError: if no database answers.
    """
    with _first_that_answers(fleet) as connection, connection.transaction():
        connection.execute("set local idle_in_transaction_session_timeout = 0")
        row = connection.execute("select pg_catalog.pg_try_advisory_xact_lock(%s)", (FLEET_LOCK,)).fetchone()
        if row is None or not row[0]:
            raise InstallationError("another operator is at work on this fleet; wait for the end of that run")
        yield


def _first_that_answers(fleet: Fleet) -> psycopg.Connection:
    targets = [fleet.registry] if fleet.registry is not None else [shard.conninfo for shard in fleet.shards]
    for target in targets:
        try:
            return psycopg.connect(target)
        except psycopg.OperationalError as error:
            last = str(error).strip()
    where = "the registry does not answer" if fleet.registry is not None else "no shard of the fleet answers"
    raise ConnectionFailedError(f"{where}: {last}")


def _step(shard: Shard, found: Probe | Failure, owners: Mapping[int, list[Shard]]) -> Step:
    if isinstance(found, Failure):
        return Step(shard, None, problem=found.message, unreachable=found.kind == "ConnectionFailedError")
    for number in shard.shard_ids:
        others = [other.name for other in owners.get(number, []) if other is not shard]
        if others:
            return Step(shard, found.revision, problem=f"shard id {number} is already that of {', '.join(others)}")
    if found.shard_id is not None and shard.shard_id not in (None, found.shard_id):
        said = f"the database answers as shard {found.shard_id}, the file says {shard.shard_id}"
        return Step(shard, found.revision, problem=f"{said}: is this the right database?")
    if found.installed and found.revision is None:
        return Step(shard, None, problem="the role may not read shardflake._revision; use the one that owns the schema")
    actions = []
    if not found.installed:
        actions.append(f"install revision {install.head()}")
    elif found.revision != install.head():
        actions.append(f"upgrade {found.revision} to {install.head()}")
    if found.shard_id is None and shard.shard_id is not None:
        further = f" and {len(shard.logical_shards)} logical shards" if shard.logical_shards else ""
        actions.append(f"assign shard {shard.shard_id}{further}")
    return Step(shard, found.revision, tuple(actions))


def _run(pool: Pool, shards: list[Shard], steps: Mapping[Shard, Step], stop: Stop, note: Callable[[Outcome], None]) -> None:
    for shard, result in pool.run(_upgrade, shards, stop):
        before = steps[shard].installed
        if isinstance(result, Failure):
            note(Outcome(shard, "failed", before, before, error=result.message))
        else:
            note(Outcome(shard, "upgraded", before, result[0], result[1]))


def _upgrade(shard: Shard) -> tuple[str, float]:
    """Upgrade one shard, in a worker; returns the revision and the seconds it took."""
    started = time.monotonic()
    with one_connection(shard) as engine:
        revision = install.upgrade(engine)
        state = install.status(engine)
        if shard.shard_id is not None and state.shard_id is None:
            install.assign(engine, shard.shard_id, logical_shards=shard.logical_shards)
            state = install.status(engine)
    if shard.shard_id is not None and state.shard_id != shard.shard_id:
        raise InstallationError(f"the database has become shard {state.shard_id} meanwhile")
    if state.identity not in ("confirmed", "confirmed, cluster unknown", "not assigned"):
        raise InstallationError(f"upgraded, but it would refuse to issue ids: {state.identity}")
    return revision, time.monotonic() - started
