"""Compare what the shards of a fleet say with the file, with the release, with the registry and with one another."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from shardflake import install
from shardflake.fleet.file import Fleet, Shard, ranges
from shardflake.fleet.observe import Observation, observe
from shardflake.fleet.pool import Failure, Pool
from shardflake.fleet.registry import Entry

Answers = Mapping[Shard, Observation | Failure]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with a shard.

    :param shard: its name; the registry's findings may name a shard that the file does not have.
    :param kind: a word to filter by, such as ``drift``.
    :param message: what is wrong, and what to do.
    :param detail: further lines, such as a diff.
    :param notice: True if it needs a look but no action now; exit codes leave it out.
    """

    shard: str
    kind: str
    message: str
    detail: str = ""
    notice: bool = False


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From when on a quantity is a finding.

    :param clock_difference: of a shard from the middle of the fleet, beyond what the round trip explains.
    :param years_left: until the time field ends.
    """

    clock_difference: timedelta = timedelta(milliseconds=250)
    years_left: float = 1.0


def check(
    pool: Pool,
    fleet: Fleet,
    registry: Sequence[Entry] | None = None,
    thresholds: Thresholds | None = None,
    ready: Callable[[], None] = lambda: None,
) -> list[Finding]:
    """Return everything that is wrong, in the order of the file.

    :param registry: what the registry has, if there is one.
    :param ready: called whenever a shard has answered.
    """
    answers: dict[Shard, Observation | Failure] = {}
    for shard, answer in pool.run(observe, fleet.shards):
        answers[shard] = answer
        ready()
    return compare(fleet, answers, registry, thresholds or Thresholds())


def compare(fleet: Fleet, answers: Answers, registry: Sequence[Entry] | None, thresholds: Thresholds) -> list[Finding]:
    """Return the findings in what the shards have answered; pure."""
    findings: list[Finding] = []
    for shard, answer in answers.items():
        findings += _alone(shard, answer, thresholds)
    findings += _clashes(fleet, answers)
    findings += _same_database(answers)
    findings += _clocks(answers, thresholds.clock_difference)
    if registry is not None:
        findings += _registry(fleet, answers, registry)
    order = {shard.name: number for number, shard in enumerate(fleet.shards)}
    return sorted(findings, key=lambda finding: order.get(finding.shard, len(order)))


def _alone(shard: Shard, answer: Observation | Failure, thresholds: Thresholds) -> Iterator[Finding]:
    """Give what is wrong with one shard by itself."""
    if isinstance(answer, Failure):
        kind = {"ConnectionFailedError": "unreachable", "UnsupportedServerError": "unsupported"}.get(answer.kind, "failed")
        yield Finding(shard.name, kind, answer.message)
        return
    state = answer.status
    if state is None:
        yield Finding(shard.name, "not installed", "shardflake is not installed; run: shardflake fleet upgrade")
        return
    if state.revision != install.head():
        known = state.revision or "unknown: the role may not read it"
        yield Finding(shard.name, "revision", f"revision is {known}, not {install.head()}; run: shardflake fleet upgrade")
    if answer.drift:
        objects = sum(line.startswith("--- ") for line in answer.drift.splitlines())
        yield Finding(shard.name, "drift", f"{objects} objects differ from the release", answer.drift)
    yield from _identity(shard, state)
    yield from _shard_lists(shard, state)
    yield from _reserves(shard, state, thresholds)
    for column in answer.columns:
        yield Finding(shard.name, f"column: {column.kind}", f"{column.table}.{column.column}: {column.detail}")


def _identity(shard: Shard, state: install.Status) -> Iterator[Finding]:
    if state.shard_id is None:
        yield Finding(shard.name, "no shard id", "the database has no shard id; run: shardflake fleet upgrade, or fleet claim")
        return
    if state.identity in ("copied or altered", "another cluster"):
        yield Finding(
            shard.name,
            "identity",
            f"{state.identity}: it refuses to issue ids. As a shard of its own: shardflake db assign --shard-id N --replace; "
            "as the only one of its shard: shardflake db confirm",
        )
    if shard.shard_id is not None and shard.shard_id != state.shard_id:
        yield Finding(shard.name, "shard id", f"the database answers as shard {state.shard_id}, the file says {shard.shard_id}")


def _shard_lists(shard: Shard, state: install.Status) -> Iterator[Finding]:
    """Give what the file says of further shard ids, where it says anything, and the database does not."""
    wanted = {state.shard_id, *shard.logical_shards} - {None}
    if shard.logical_shards and wanted != set(state.logical_shards) and shard.shard_id == state.shard_id:
        said = f"the database issues shards {_list(state.logical_shards)}, the file says {_list(wanted)}"
        yield Finding(shard.name, "logical shards", said)
    if shard.backfill_shards and set(shard.backfill_shards) != set(state.backfill_shards):
        here, file = _list(state.backfill_shards), _list(shard.backfill_shards)
        said = f"the database imports into shards {here}, the file says {file}; run: shardflake fleet claim {shard.name}"
        yield Finding(shard.name, "backfill shards", said)


def _list(shard_ids: Collection[int | None]) -> str:
    return ", ".join(ranges(sorted({number for number in shard_ids if number is not None}))) or "none"


def _reserves(shard: Shard, state: install.Status, thresholds: Thresholds) -> Iterator[Finding]:
    """Give what runs short: time left, ids per millisecond, and the clock behind the mark."""
    ahead = state.high_water - state.clock
    if ahead > state.max_lead + timedelta(seconds=5):  # in plain running, the mark is at most 4 s ahead
        yield Finding(
            shard.name,
            "mark ahead",
            f"the high-water mark is {ahead.total_seconds():.0f} s ahead of the clock: it was set back",
        )
    if state.years_left < thresholds.years_left:
        yield Finding(shard.name, "time", f"the time field ends in {state.years_left} years")
    if state.ids_per_ms_peak is not None and state.ids_per_ms_peak * 10 >= state.ids_per_ms_limit * 9:
        peak = f"{state.ids_per_ms_peak} of {state.ids_per_ms_limit} possible ids/ms"
        yield Finding(shard.name, "peak", f"the busiest moment since the start drew {peak}", notice=True)


def _clashes(fleet: Fleet, answers: Answers) -> Iterator[Finding]:
    """Give shard ids that two databases use; blamed is the one that the file gives another id, else both.

    Of shards that were not asked, the file alone says what they use.
    """
    holders: dict[int, list[Shard]] = defaultdict(list)
    for shard, answer in answers.items():
        if isinstance(answer, Observation) and answer.status is not None:
            for number in {answer.status.shard_id, *answer.status.logical_shards, *answer.status.backfill_shards} - {None}:
                holders[number or 0].append(shard)
    intended = {number: shard for shard in fleet.shards for number in shard.shard_ids}
    clashing: dict[tuple[Shard, ...], list[int]] = defaultdict(list)
    for number, shards in sorted(holders.items()):
        if len(shards) > 1:
            clashing[tuple(shards)].append(number)
    for group, numbers in clashing.items():
        for shard in group:
            if any(intended.get(number) is not shard for number in numbers):
                others = ", ".join(other.name for other in group if other is not shard)
                plural = "s" if len(numbers) > 1 else ""
                yield Finding(shard.name, "clash", f"shard id{plural} {', '.join(ranges(numbers))} also issued by {others}")
    for other in fleet.others:
        for shard in answers:
            if theirs := sorted(number for number in other.shard_ids if shard in holders.get(number, ())):
                what = f"shard id{'s' * (len(theirs) > 1)} {', '.join(ranges(theirs))}"
                yield Finding(
                    shard.name,
                    "clash",
                    f"{what} belong{'s' * (len(theirs) == 1)} to {other.name} by the file, which was not asked",
                )


def _same_database(answers: Answers) -> Iterator[Finding]:
    seen: dict[tuple[int, int], Shard] = {}
    for shard, answer in answers.items():
        if isinstance(answer, Observation) and answer.database.system_identifier is not None:
            key = (answer.database.system_identifier, answer.database.oid)
            if (first := seen.setdefault(key, shard)) is not shard:
                yield Finding(shard.name, "same database", f"it is the same database as {first.name}")


def _clocks(answers: Answers, allowed: timedelta) -> Iterator[Finding]:
    clocks = {shard: answer.clock for shard, answer in answers.items() if isinstance(answer, Observation)}
    if len(clocks) < 2:
        return
    middle = statistics.median((clock.earliest + clock.latest) / 2 for clock in clocks.values())
    for shard, clock in clocks.items():
        if clock.earliest - middle > allowed.total_seconds():
            yield Finding(
                shard.name, "clock", f"its clock is at least {clock.earliest - middle:.3f} s ahead of the fleet's middle"
            )
        elif middle - clock.latest > allowed.total_seconds():
            yield Finding(shard.name, "clock", f"its clock is at least {middle - clock.latest:.3f} s behind the fleet's middle")


def _registry(fleet: Fleet, answers: Answers, registry: Sequence[Entry]) -> Iterator[Finding]:
    """Give shard ids that the registry does not know, knows as retired, as another database's, or that nobody issues."""
    entries = {entry.shard_id: entry for entry in registry}
    for shard, answer in answers.items():
        if not isinstance(answer, Observation) or answer.status is None or answer.status.shard_id is None:
            continue
        issued = {answer.status.shard_id, *answer.status.logical_shards}
        for problem, numbers in _grouped((_unregistered(shard, answer, entries.get(n)), n) for n in sorted(issued)):
            yield Finding(shard.name, "registry", f"shard id{'s' * (len(numbers) > 1)} {', '.join(ranges(numbers))}: {problem}")
        idle = [e.shard_id for e in registry if e.retired_at is None and e.name == shard.name and e.shard_id not in issued]
        if idle:
            what = f"holds shard id{'s' * (len(idle) > 1)} {', '.join(ranges(idle))} there, but does not issue"
            hint = "a move or a claim was interrupted? run it again"
            yield Finding(shard.name, "registry", f"{what} {'them' if len(idle) > 1 else 'it'}; {hint}", notice=True)
    names = {shard.name for shard in (*fleet.shards, *fleet.others)}
    for entry in registry:
        if entry.retired_at is None and entry.name not in names:
            yield Finding(entry.name, "registry", f"holds shard id {entry.shard_id}, but is not in the file", notice=True)


def _unregistered(shard: Shard, answer: Observation, entry: Entry | None) -> str:
    """Say what is wrong with the entry of a shard id that a database issues; '' if it is right."""
    database = answer.database
    if entry is None:
        return f"not in the registry; run: shardflake fleet claim {shard.name}"
    if entry.retired_at is not None:
        return f"retired on {entry.retired_at:%Y-%m-%d}, as {entry.name}"
    if database.system_identifier is None:
        return ""
    held = (entry.system_identifier, entry.database_oid)
    return "" if held == (database.system_identifier, database.oid) else f"registered as {entry.name}, another database"


def _grouped(problems: Iterable[tuple[str, int]]) -> Iterator[tuple[str, list[int]]]:
    """Give each problem once, with all the shard ids that have it."""
    groups: dict[str, list[int]] = defaultdict(list)
    for problem, number in problems:
        groups[problem].append(number)
    yield from ((problem, numbers) for problem, numbers in groups.items() if problem)
