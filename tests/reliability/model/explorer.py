"""Explores every state that the sessions and the world can reach, breadth first: the first broken promise is a nearest one."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from operator import ge

from tests.reliability.model.generator import HOLDING, Generator
from tests.reliability.model.state import PROMISES, START, Database, Protocol, Session, State, World
from tests.reliability.model.world import accidents, cancels


@dataclass(frozen=True)
class Event:
    """One line of a trace: the session that moved, A, B, ..., or "" for the world, and what happened."""

    actor: str
    text: str


@dataclass(frozen=True)
class Result:
    """How many states were seen, and the promise that was broken with a shortest way there, or "" and nothing."""

    states: int
    broken: str
    trace: tuple[Event, ...]


@dataclass(frozen=True)
class Scenario:
    """Where an exploration begins: the world, the calls of each session (numbers of ids, or CONFIRM), and the shard.

    The shard is fresh, or running: its first window is open and used up.
    """

    world: World
    scripts: tuple[tuple[int, ...], ...]
    running: bool = True


def explore(protocol: Protocol, scenario: Scenario, promises: frozenset[str] = PROMISES) -> Result:
    """Visit every reachable state, or those up to the first broken promise.

    Sessions are interchangeable, as a session's number occurs nowhere else in a state: two states that differ by a permutation
    of their sessions are one. Of two states that differ in what may still happen, one with more of everything covers the other.

    :param promises: those to watch; what breaks another one is not noticed.
    """
    generator = Generator(protocol, scenario.world, promises)
    start = _start(protocol, scenario)
    first = _canonical(start)
    parents: dict[State, State | None] = {first: None}
    worlds: dict[tuple[object, ...], list[World]] = {}
    queue = deque([first])
    with _no_garbage():
        while queue:
            state = queue.popleft()
            for _, _, after in _moves(generator, state):
                seen = _canonical(after)
                if seen in parents or _covered(worlds, seen):
                    continue
                parents[seen] = state
                broken = seen.broken or ("unlocked" if "unlocked" in promises and _leaked(seen) else "")
                if broken:
                    return Result(len(parents), broken, _trace(generator, start, parents, seen))
                queue.append(seen)
    return Result(len(parents), "", ())


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Keep the collector from going through millions of tuples that refer to nothing but older ones."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _covered(worlds: dict[tuple[object, ...], list[World]], state: State) -> bool:
    """Say whether the same state was seen with as much left to happen; if not, remember this one."""
    before = worlds.setdefault((state.clock, state.databases, state.sessions, state.ids, state.broken), [])
    if any(all(map(ge, world, state.world)) for world in before):
        return True
    before.append(state.world)
    return False


def _start(protocol: Protocol, scenario: Scenario) -> State:
    database = Database()
    if scenario.running:
        window = START * protocol.stride + protocol.capacity - 1
        database = Database(window, marks=(START + protocol.reserve,), opened=START, current=True)
    return State(START, (database,), tuple(Session(script) for script in scenario.scripts), 0, scenario.world)


def _moves(generator: Generator, state: State) -> Iterator[tuple[int | None, str, State]]:
    for number, session in enumerate(state.sessions):
        if session.script:
            for event, after in generator.moves(state, number):
                yield number, event, after
    yield from cancels(generator.protocol, state)
    for event, after in accidents(generator.protocol, state):
        yield None, event, after


def _canonical(state: State) -> State:
    sessions = state.sessions
    if all(left <= right for left, right in pairwise(sessions)):
        return state
    return state._replace(sessions=tuple(sorted(sessions)))


def _leaked(state: State) -> bool:
    """Say whether a database is locked although no session is where it may hold the lock."""
    return any(
        database.locked and not any(s.step in HOLDING and s.database == place for s in state.sessions)
        for place, database in enumerate(state.databases)
    )


def _trace(generator: Generator, start: State, parents: dict[State, State | None], last: State) -> tuple[Event, ...]:
    """Walk the way again with sessions that keep their names."""
    path: list[State] = []
    at: State | None = last
    while at is not None:
        path.append(at)
        at = parents[at]
    state = start
    events: list[Event] = []
    for target in reversed(path[:-1]):
        number, text, state = next(move for move in _moves(generator, state) if _canonical(move[2]) == target)
        events.append(Event("" if number is None else "ABCD"[number], text))
    return tuple(events)
