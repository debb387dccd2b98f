"""What happens to the sessions: the clock, cancels, crashes, restarts and administrators."""

from __future__ import annotations

from collections.abc import Iterator

from tests.reliability.model.generator import HOLDING, Moves
from tests.reliability.model.state import EARLIEST, Database, Protocol, Session, State, World, put


def cancels(protocol: Protocol, state: State) -> Iterator[tuple[int, str, State]]:
    """Cancel the statement of a session in the middle of a call; its client will make the same call again."""
    if not state.world.cancels:
        return
    world = state.world._replace(cancels=state.world.cancels - 1)
    for number, session in enumerate(state.sessions):
        if session.step == "idle":
            continue
        database = state.databases[session.database]
        if session.step in HOLDING and protocol.subtransaction:
            database = database._replace(locked=False)
        idle = Session(session.script, database=session.database)
        yield number, "cancelled", put(state._replace(world=world), number, idle, database)


def accidents(protocol: Protocol, state: State) -> Moves:
    """Yield what the world can do next."""
    yield from _clock(state)
    if state.world.crashes:
        yield from _crash(protocol, state)
    if state.world.restarts:
        world = state.world._replace(restarts=state.world.restarts - 1)
        databases = tuple(database._replace(current=False, locked=False) for database in state.databases)
        yield "the server restarts cleanly", _restarted(state, databases, world)
    if state.world.saves:
        database = state.databases[0]
        world = state.world._replace(saves=state.world.saves - 1)
        saved = database._replace(initial=database.window)
        event = f"the platform stores _window {protocol.show(database.window)}"
        yield event, state._replace(databases=(saved, *state.databases[1:]), world=world)
    if all(session.step == "idle" for session in state.sessions):
        # ALTER waits for transactions that have drawn; CREATE DATABASE refuses to copy a database in use
        yield from _alter(protocol, state)
        yield from _copy(state)


def _clock(state: State) -> Moves:
    if not state.world.clock:
        return
    world = state.world._replace(clock=state.world.clock - 1)
    yield f"the clock ticks: {state.clock + 1}", state._replace(clock=state.clock + 1, world=world)
    if not world.steady and state.clock > EARLIEST:
        yield f"the clock steps back: {state.clock - 1}", state._replace(clock=state.clock - 1, world=world)


def _crash(protocol: Protocol, state: State) -> Moves:
    """Reset the unlogged sequences, and the mark to any value since the durable one: WAL may have been written unasked."""
    world = state.world._replace(crashes=state.world.crashes - 1)
    first, *others = (
        database._replace(
            window=database.initial,
            marks=database.marks[:1],
            opened=0,
            current=False,
            locked=False,
            foreign=database.initial > 0,
        )
        for database in state.databases
    )
    for mark in state.databases[0].marks:
        event = f"the server crashes: _window {protocol.show(first.window)}, mark {mark}"
        yield event, _restarted(state, (first._replace(marks=(mark,)), *others), world)


def _restarted(state: State, databases: tuple[Database, ...], world: World) -> State:
    sessions = tuple(Session(session.script, database=session.database) for session in state.sessions)
    return state._replace(databases=databases, sessions=sessions, world=world)


def _alter(protocol: Protocol, state: State) -> Moves:
    if state.world.alters:
        database = state.databases[0]
        world = state.world._replace(alters=state.world.alters - 1)
        altered = database._replace(initial=database.window, armed=False)
        event = f"ALTER SEQUENCE _window at {protocol.show(database.window)}"
        yield event, state._replace(databases=(altered, *state.databases[1:]), world=world)


def _copy(state: State) -> Moves:
    if state.world.copies:
        database = state.databases[0]
        world = state.world._replace(copies=state.world.copies - 1)
        copy = database._replace(armed=False, foreign=True, marks=database.marks[-1:])
        copied = state._replace(databases=(*state.databases, copy), world=world)
        for number, session in enumerate(state.sessions):
            moved = session._replace(database=len(state.databases))
            yield f"CREATE DATABASE ... TEMPLATE; {'ABCD'[number]} connects to the copy", put(copied, number, moved)
