"""What is explored: worlds in which the generator keeps its promises, and changed generators that break one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tests.reliability.model.explorer import Result, Scenario, explore
from tests.reliability.model.state import CONFIRM, PROMISES, Protocol, World

ALL = PROMISES - {"unique"}  # an order without equals has no duplicates, and is cheaper to keep than all ids
_ONE_EACH = ((1,), (1,))
_ONE_AND_TWO = ((1,), (1, 1))
_TWO_EACH = ((1, 1), (1, 1))
_THREE_EACH = ((1, 1, 1), (1, 1, 1))


@dataclass(frozen=True)
class Case:
    """One exploration: a generator, changed or not, in a scenario.

    :param name: what the world does, or which part of the generator is changed.
    :param text: for the page: what the change is, or what the scenario is about.
    :param broken: the promise that must break, or "" if none may.
    :param changes: fields of Protocol that differ from the rules in force.
    """

    name: str
    text: str
    scenario: Scenario
    broken: str = ""
    changes: Mapping[str, object] = field(default_factory=dict, hash=False)

    def run(self, promises: frozenset[str] | None = None) -> Result:
        """Explore it, and watch the given promises; by default the one that must break, or all."""
        protocol = replace(Protocol(), **self.changes)  # type: ignore[arg-type]
        return explore(protocol, self.scenario, promises or (frozenset({self.broken}) if self.broken else ALL))


MAIN = Case(
    "crashes",
    "Two sessions with three calls each, from the very first window; 3 steps of the clock, 2 crashes, a cancel.",
    Scenario(World(clock=3, crashes=2, cancels=1), _THREE_EACH, running=False),
)

SOUND = (
    Case(
        "a clock that stalls",
        "As before with two calls each, and a clock that may stand still while a session waits for it.",
        Scenario(World(clock=2, stalls=True, crashes=2, cancels=1), _TWO_EACH, running=False),
    ),
    Case(
        "clean restarts",
        "The window survives, and the fast path uses it before the first opening.",
        Scenario(World(clock=2, crashes=1, restarts=1, cancels=1), _TWO_EACH),
    ),
    Case(
        "batches",
        "One session claims several windows at once with next_ids().",
        Scenario(World(clock=2, crashes=1, cancels=1), ((3, 3), (1, 1))),
    ),
    Case(
        "no lead allowed",
        "max_lead = 0, and a clean restart: refused until the clock has caught up, and no longer.",
        Scenario(World(clock=4, restarts=1, cancels=1, max_lead=0), _TWO_EACH),
    ),
    Case(
        "a clock that runs forward",
        "max_lead = 0, no step back, no restart: never refused.",
        Scenario(World(clock=4, steady=True, cancels=1, max_lead=0), _THREE_EACH),
    ),
    Case(
        "a copy",
        "CREATE DATABASE ... TEMPLATE at any moment, the copied window near the clock or not; both go on "
        "with the same shard id.",
        Scenario(World(clock=2, copies=1, cancels=1, within_reach=True), _TWO_EACH),
    ),
    Case(
        "ALTER SEQUENCE and confirm_identity()",
        "One session confirms beside another's calls; the altered value comes back in a crash.",
        Scenario(World(clock=2, crashes=1, alters=1, cancels=1), ((1, 1), (CONFIRM, 1))),
    ),
    Case(
        "confirm_identity() in a live shard",
        "It runs beside the other's calls, is cancelled anywhere, or meets a crash.",
        Scenario(World(clock=2, crashes=1, cancels=1), ((1, 1), (1, CONFIRM, 1))),
    ),
    Case(
        "a failover to an old state",
        "A platform stores the unlogged sequences at some moment and brings them back later.",
        Scenario(World(clock=2, crashes=1, saves=1, cancels=1), _TWO_EACH),
    ),
    Case(
        "three sessions",
        "One call each.",
        Scenario(World(clock=1, crashes=1, cancels=1), ((1,), (1,), (1,))),
    ),
)

MUTANTS = (
    Case(
        "without the flush",
        "The mark is raised and not made durable before the window above it opens.",
        Scenario(World(clock=2, crashes=2), _ONE_AND_TWO, running=False),
        "unique",
        {"flush": False},
    ),
    Case(
        "the window before the mark",
        "The mark is raised and flushed, but only after the window is open to others.",
        Scenario(World(clock=2, crashes=2), _ONE_AND_TWO, running=False),
        "unique",
        {"order": ("window", "mark", "flush", "opened", "incarnation")},
    ),
    Case(
        "without the lock",
        "Everyone opens windows at the same time.",
        Scenario(World(), _ONE_EACH),
        "unique",
        {"lock": False},
    ),
    Case(
        "a lock of the session",
        "The lock is taken outside a subtransaction, and given back by hand.",
        Scenario(World(cancels=1), _ONE_EACH),
        "unlocked",
        {"subtransaction": False},
    ),
    Case(
        "without the file path",
        "A copied database does not notice that it is one.",
        Scenario(World(copies=1), _ONE_AND_TWO),
        "unique",
        {"check_file": False},
    ),
    Case(
        "without the file path on the fast path",
        "Only the slow path looks at the file. This was the rule once.",
        Scenario(World(copies=1, within_reach=True), ((1, 1), (1,)), running=False),
        "unique",
        {"check_file_when_planned": False, "capacity": 4},
    ),
    Case(
        "without the incarnation",
        "What _window says is believed after a failover too.",
        Scenario(World(crashes=1, saves=1), _TWO_EACH),
        "unique",
        {"check_incarnation": False, "capacity": 4},
    ),
    Case(
        "without the mark after a restart",
        "The first window of a new incarnation goes by the clock alone.",
        Scenario(World(clock=3, crashes=1), _ONE_EACH),
        "unique",
        {"mark_after_restart": False},
    ),
    Case(
        "without void counters",
        "The counter after the last of a window is the first of the next tick.",
        Scenario(World(clock=3), ((1,), (1, 1, 1))),
        "unique",
        {"void": 0, "endless": False},
    ),
    Case(
        "a fast path that does not look at the clock",
        "Any draw is an id while its counter is valid.",
        Scenario(World(crashes=1), _TWO_EACH, running=False),
        "unique",
        {"check_clock": False},
    ),
    Case(
        "a fast path that does not look at the counter",
        "Any draw near the clock is an id; the counter runs into the bits of the shard.",
        Scenario(World(), _ONE_EACH),
        "well-formed",
        {"check_counter": False},
    ),
    Case(
        "a window at the last tick",
        "`v_tick + 1` without the 1: a window may open at the tick where one has been.",
        Scenario(World(), _ONE_AND_TWO),
        "unique",
        {"above_tick": 0},
    ),
    Case(
        "without any distance from the mark",
        "A window may reach the mark, and the first after a restart opens at it: no 1 s below it, no + 1, no 1 s above it.",
        Scenario(World(clock=2, crashes=1), _ONE_AND_TWO),
        "unique",
        {"margin": 0, "above_mark": 0, "jump": 0},
    ),
    Case(
        "the incarnation before the window",
        "A session that is cancelled in between leaves a window of the old incarnation in the new one.",
        Scenario(World(clock=1, crashes=1, cancels=1), _ONE_EACH),
        "answered",
        {"order": ("mark", "flush", "incarnation", "window", "opened")},
    ),
    Case(
        "_opened before the window",
        "A session that is cancelled in between leaves a shard that takes its own state for one moved by hand.",
        Scenario(World(clock=1, cancels=1), _ONE_EACH),
        "answered",
        {"order": ("mark", "flush", "opened", "window", "incarnation")},
    ),
    Case(
        "trust in a mark that nobody flushed",
        "An opening that was cancelled before its flush has raised the mark in memory; the next one opens below it. "
        "This was the rule once.",
        Scenario(World(clock=3, cancels=1), _ONE_AND_TWO),
        "durable",
        {"distrust_unfinished": False},
    ),
    Case(
        "the incarnation after the draw",
        "Beside an opening, the incarnation is looked at after the draw. This was the rule once.",
        Scenario(World(stalls=True, crashes=1, saves=1), ((1, 4), (1, 1, 1))),
        "unique",
        {"identity_before_fresh_draw": False, "capacity": 3},
    ),
    Case(
        "no second on top of max_lead after a restart",
        "The first window after a restart is held to max_lead like all others. This was the rule once.",
        Scenario(World(clock=6, restarts=1, max_lead=0), _ONE_EACH),
        "answered",
        {"allow_jump": False},
    ),
    Case(
        "a confirm_identity() that ends with the incarnation",
        "A cancel leaves a window at 0 in a running incarnation. This was the rule once.",
        Scenario(World(cancels=1), ((1,), (CONFIRM,))),
        "answered",
        {"confirm_order": ("mark", "flush", "window", "opened", "incarnation")},
    ),
    Case(
        "without the pace",
        "Windows open as fast as sessions ask for them, and run away from the clock.",
        Scenario(World(steady=True, max_lead=0), _THREE_EACH),
        "answered",
        {"pace": False},
    ),
)

LIMITS = (
    Case(
        "an old state within reach of the fast path",
        "The fast path knows no incarnation. A window that a platform brings back after a failover, and that lies at most "
        "8 ms behind the clock or 119 ms ahead of it, because the failover took no longer or the clock was set back, is used "
        "until its counter is used up. The same holds for a value that ALTER SEQUENCE left and confirm_identity() accepted, "
        "once a crash brings it back.",
        Scenario(World(crashes=1, saves=1, within_reach=True), _TWO_EACH),
        "unique",
        {"capacity": 4},
    ),
    Case(
        "2^23 draws during one opening",
        "Void counters do run out: here after one, in SQL after 8,387,584, all within one opening of a window.",
        Scenario(World(clock=1, cancels=1), _TWO_EACH),
        "unique",
        {"void": 1, "endless": False},
    ),
)

_SPARE = Scenario(World(clock=3, crashes=1, cancels=1), _TWO_EACH)

SPARE = (
    Case(
        "greatest(v_draw, …)",
        "Under the lock no draw is above the sequence's last value.",
        _SPARE,
        changes={"tick_of_draw": False},
    ),
    Case(
        "greatest(…, last value)",
        "Other sessions' draws since stay in the same tick, as void counters do not run out.",
        _SPARE,
        changes={"tick_of_last_value": False},
    ),
    Case(
        "the 1 s that windows keep below the mark",
        "The first window after a restart opens above the mark.",
        _SPARE,
        changes={"margin": 0},
    ),
    Case("v_mark + 1 without the 1", "No window reaches the mark.", _SPARE, changes={"above_mark": 0}),
    Case(
        "the second after a restart",
        "It is there for ids that never reached a promoted standby, and no standby is modelled.",
        _SPARE,
        changes={"jump": 0},
    ),
    Case(
        "greatest(v_mark, v_last + 3000)",
        "A mark that is lowered is still above every window.",
        _SPARE,
        changes={"mark_never_lowered": False},
    ),
)
