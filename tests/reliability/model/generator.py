"""The sessions' steps: next_id(), next_ids() and confirm_identity(), as SQL has them.

A step is what PostgreSQL does at once as seen by other sessions: one nextval(), one reading of the clock, one setval(), one
attempt at the lock. What only the holder of the lock reads or writes may share a step. Steps and variables are named as in
``sql/functions/_draw.sql``, ``_open_window.sql`` and ``confirm_identity.sql``; read them side by side.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.reliability.model.state import (
    AHEAD,
    BEHIND,
    BEHIND_FRESH,
    CONFIRM,
    LEAST_LIMIT,
    ORDER,
    PROMISES,
    Database,
    Protocol,
    Session,
    State,
    World,
    put,
)

Moves = Iterator[tuple[str, State]]  # what happens, and the state after it
BEFORE_LOCK = ("idle", "check", "try", "identity", "fresh", "fresh check", "wait")
HOLDING = ("locked", "pick", "pace", *ORDER, "end", *(f"confirm {name}" for name in ORDER), "confirm commit")


class Generator:
    """What a session can do next, under a protocol. A step yields nothing while it waits."""

    def __init__(self, protocol: Protocol, world: World, promises: frozenset[str] = PROMISES) -> None:
        self.protocol = protocol
        self.promises = promises
        self._limit = max(world.max_lead, LEAST_LIMIT)
        self._restless = bool(not world.steady or world.crashes or world.restarts)  # refusals for a lead are to be expected
        self._steps = {name: getattr(self, "_" + name.replace(" ", "_")) for name in BEFORE_LOCK + HOLDING}

    def moves(self, state: State, number: int) -> Moves:
        """Yield what a session that has calls to make can do next."""
        session = state.sessions[number]
        yield from self._steps[session.step](state, number, session, state.databases[session.database])

    # The fast path

    def _idle(self, state: State, number: int, session: Session, database: Database) -> Moves:
        if session.script[0] == CONFIRM:
            if not database.locked:
                held = database._replace(locked=True)
                yield "confirm_identity(): get the lock", self._confirmed(state, number, session, held, "")
        elif session.script[0] > 1:
            yield f"next_ids({session.script[0]})", put(state, number, session._replace(step="try"))
        else:
            event, after = self._nextval(state, number, "check")
            yield f"next_id(): {event}", after

    def _check(self, state: State, number: int, session: Session, database: Database) -> Moves:
        tick, counter = divmod(session.draw, self.protocol.stride)
        near = not self.protocol.check_clock or state.clock - BEHIND <= tick <= state.clock + AHEAD
        valid = not self.protocol.check_counter or counter < self.protocol.capacity
        ours = database.armed or not self.protocol.check_file_when_planned
        draw = self.protocol.show(session.draw)
        if near and valid and ours and (state.world.within_reach or not session.foreign):
            yield self._issue(state, number, session, database, f"clock {state.clock}: draw {draw} is accepted")
        else:
            why = (
                "is not near the clock"
                if not near
                else "is void"
                if not valid
                else "is another file's"
                if not ours
                else "is out of reach"
            )
            yield f"clock {state.clock}: draw {draw} {why}", put(state, number, _forget(session)._replace(step="try"))

    # The slow path

    def _try(self, state: State, number: int, session: Session, database: Database) -> Moves:
        if not database.locked or not self.protocol.lock:
            yield "get the lock", put(state, number, session._replace(step="locked"), database._replace(locked=True))
            return
        following = "identity" if self.protocol.identity_before_fresh_draw else "fresh"
        step = "wait" if session.script[0] > 1 else following
        yield "the lock is taken", put(state, number, session._replace(step=step))

    def _identity(self, state: State, number: int, session: Session, database: Database) -> Moves:
        good = database.armed and database.current
        event = "incarnation and file are right" if good else "incarnation or file is not right: wait"
        yield event, put(state, number, session._replace(step="fresh" if good else "wait"))

    def _fresh(self, state: State, number: int, session: Session, database: Database) -> Moves:
        yield self._nextval(state, number, "fresh check")

    def _fresh_check(self, state: State, number: int, session: Session, database: Database) -> Moves:
        tick, counter = divmod(session.draw, self.protocol.stride)
        good = self.protocol.identity_before_fresh_draw or (database.armed and database.current)
        near = state.clock - BEHIND_FRESH <= tick <= state.clock + self._limit
        event = f"clock {state.clock}: draw {self.protocol.show(session.draw)}"
        if good and near and counter < self.protocol.capacity:
            yield self._issue(state, number, session, database, f"{event} will do without the lock")
        else:
            yield f"{event} will not do: wait", put(state, number, _forget(session)._replace(step="wait"))

    def _wait(self, state: State, number: int, session: Session, database: Database) -> Moves:
        if not database.locked or not self.protocol.lock:
            yield "get the lock", put(state, number, session._replace(step="locked"), database._replace(locked=True))

    def _locked(self, state: State, number: int, session: Session, database: Database) -> Moves:
        if self.protocol.check_file and not database.armed:
            yield self._refuse(state, number, session, database, "SF002, a copy or altered", documented=True)
            return
        current = database.current or not self.protocol.check_incarnation
        event, after = self._nextval(state, number, "pick", current=current)
        yield f"{'the same' if current else 'another'} incarnation; {event}", after

    def _pick(self, state: State, number: int, session: Session, database: Database) -> Moves:
        rule, now, mark = self.protocol, state.clock, database.marks[-1]
        drawn, counter = divmod(session.draw, rule.stride)
        tick = max(drawn if rule.tick_of_draw else 0, database.window // rule.stride if rule.tick_of_last_value else 0)
        if tick > mark or (session.current and tick < max(database.opened, 1)):
            yield self._refuse(state, number, session, database, "SF002, moved by hand", documented=False)
            return
        near = now - BEHIND <= drawn <= now + self._limit
        if session.current and session.script[0] == 1 and counter < rule.capacity and near:
            yield self._issue(state, number, session, database, f"clock {now}: draw {rule.show(session.draw)} will do")
            return
        first = max(now, tick + rule.above_tick)
        if not session.current and mark > 0:
            if rule.mark_after_restart:
                first = max(first, mark + rule.above_mark)
            first += rule.jump
        chosen = _forget(session)._replace(now=now, tick=tick, first=first)
        if rule.pace and now < self._goal(chosen):
            yield f"clock {now}: window {first}, once the clock has moved", put(state, number, chosen._replace(step="pace"))
        else:
            yield self._allow(state, number, chosen, database, now)

    def _pace(self, state: State, number: int, session: Session, database: Database) -> Moves:
        if state.clock < session.now or state.clock >= self._goal(session):
            yield self._allow(state, number, session, database, state.clock)
        elif state.world.stalls and state.clock == session.now:
            yield self._allow(state, number, session, database, state.clock, stopped=True)

    def _allow(
        self, state: State, number: int, session: Session, database: Database, seen: int, stopped: bool = False
    ) -> tuple[str, State]:
        """Refuse a window too far ahead of the clock, or go on to the first thing to write.

        :param seen: the clock now.
        :param stopped: it has stood still for as long as one waits for it.
        """
        rule, mark, last = self.protocol, database.marks[-1], self._last(session)
        limit = self._limit + (rule.jump if rule.allow_jump and not session.current else 0)
        if last > seen + limit:
            documented = stopped or (self._restless and seen <= max(session.tick, mark))
            return self._refuse(state, number, session, database, f"SF005, window {last} at clock {seen}", documented)
        unfinished = rule.distrust_unfinished and mark > database.opened + rule.reserve
        raised = 0
        if not session.current or last + rule.margin > mark or unfinished:
            raised = max(mark if rule.mark_never_lowered else 0, last + rule.reserve)
        chosen = session._replace(now=0, tick=0, mark=raised)
        return f"clock {seen}: open window {session.first}", self._after(state, number, chosen, database, "")

    def _after(self, state: State, number: int, session: Session, database: Database, step: str) -> State:
        """Go on to what follows in the order of writing, leaving out what this opening need not write."""
        order = self.protocol.order
        needed = {
            "mark": session.mark > 0,
            "flush": session.mark > 0 and self.protocol.flush,
            "incarnation": not session.current,
        }
        rest = order[order.index(step) + 1 :] if step else order
        following = next((name for name in rest if needed.get(name, True)), "end")
        return put(state, number, session._replace(step=following), database)

    def _mark(self, state: State, number: int, session: Session, database: Database) -> Moves:
        after = database._replace(marks=_with_mark(database.marks, session.mark))
        yield f"_high_water := {session.mark}", self._after(state, number, session, after, "mark")

    def _flush(self, state: State, number: int, session: Session, database: Database) -> Moves:
        after = database._replace(marks=database.marks[-1:])
        yield f"flush: mark {after.marks[0]} is durable", self._after(state, number, session, after, "flush")

    def _window(self, state: State, number: int, session: Session, database: Database) -> Moves:
        rule = self.protocol
        window = self._last(session) * rule.stride + (session.script[0] - 1) % rule.capacity
        after = database._replace(window=window, foreign=False)
        drawn = self._drawn(state, number, session.first * rule.stride)
        yield f"_window := {rule.show(window)}", self._after(drawn, number, drawn.sessions[number], after, "window")

    def _opened(self, state: State, number: int, session: Session, database: Database) -> Moves:
        last = self._last(session)
        yield f"_opened := {last}", self._after(state, number, session, database._replace(opened=last), "opened")

    def _incarnation(self, state: State, number: int, session: Session, database: Database) -> Moves:
        after = database._replace(current=True)
        yield "_incarnation := this server's start", self._after(state, number, session, after, "incarnation")

    def _end(self, state: State, number: int, session: Session, database: Database) -> Moves:
        yield self._issue(state, number, session, database, "release the lock")

    # confirm_identity(), in a database whose tables hold no id above the mark

    def _confirm_mark(self, state: State, number: int, session: Session, database: Database) -> Moves:
        mark = max(database.marks[-1], state.clock + LEAST_LIMIT)
        after = database._replace(marks=_with_mark(database.marks, mark))
        yield f"_high_water := {mark}", self._confirmed(state, number, session, after, "mark")

    def _confirm_flush(self, state: State, number: int, session: Session, database: Database) -> Moves:
        after = database._replace(marks=database.marks[-1:])
        yield f"flush: mark {after.marks[0]} is durable", self._confirmed(state, number, session, after, "flush")

    def _confirm_incarnation(self, state: State, number: int, session: Session, database: Database) -> Moves:
        after = database._replace(current=False)
        yield "_incarnation := 0", self._confirmed(state, number, session, after, "incarnation")

    def _confirm_window(self, state: State, number: int, session: Session, database: Database) -> Moves:
        after = database._replace(window=0, foreign=False)
        yield "_window := 0", self._confirmed(state, number, session, after, "window")

    def _confirm_opened(self, state: State, number: int, session: Session, database: Database) -> Moves:
        yield "_opened := 0", self._confirmed(state, number, session, database._replace(opened=0), "opened")

    def _confirmed(self, state: State, number: int, session: Session, database: Database, step: str) -> State:
        order = ("", *self.protocol.confirm_order, "commit")
        return put(state, number, session._replace(step=f"confirm {order[order.index(step) + 1]}"), database)

    def _confirm_commit(self, state: State, number: int, session: Session, database: Database) -> Moves:
        after = database._replace(armed=True, locked=False)
        yield "commit: record the file, release the lock", put(state, number, done(session), after)

    # What they share

    def _last(self, session: Session) -> int:
        return session.first + (session.script[0] - 1) // self.protocol.capacity

    def _goal(self, session: Session) -> int:
        last = self._last(session)
        return min(last - AHEAD, session.now + last - session.first + 1)

    def _nextval(self, state: State, number: int, step: str, current: bool = False) -> tuple[str, State]:
        session, rule = state.sessions[number], self.protocol
        database = state.databases[session.database]
        runs_over = rule.endless and database.window % rule.stride == rule.capacity
        draw = database.window + (0 if runs_over else 1)
        after = self._drawn(state, number, draw)
        drawn = after.sessions[number]._replace(step=step, foreign=database.foreign, current=current)
        return f"draw {rule.show(draw)}", put(after, number, drawn, database._replace(window=draw))

    def _drawn(self, state: State, number: int, draw: int) -> State:
        """Note that a session now has a draw, later than all pending ones, and whether its use would break the order."""
        pending = sorted(other.turn for place, other in enumerate(state.sessions) if place != number and other.turn)
        sessions = [
            other._replace(turn=pending.index(other.turn) + 1) if other.turn in pending else other for other in state.sessions
        ]
        ghost = self._usable(draw)
        late = ghost and state.ids >> draw != 0
        sessions[number] = sessions[number]._replace(draw=draw, turn=len(pending) + 1 if ghost else 0, late=late, foreign=False)
        return state._replace(sessions=tuple(sessions))

    def _usable(self, draw: int) -> bool:
        """Say whether a draw can become an id at all: of others, it need not be known when they were made."""
        rule = self.protocol
        tick, counter = divmod(draw, rule.stride)
        return (counter < rule.capacity or not rule.check_counter) and (tick > 0 or not rule.check_clock)

    def _issue(self, state: State, number: int, session: Session, database: Database, event: str) -> tuple[str, State]:
        """Return from the call with the session's draw, or the windows that it claimed; see what that breaks."""
        rule, count = self.protocol, session.script[0]
        draws = [session.draw + place // rule.capacity * rule.stride + place % rule.capacity for place in range(count)]
        breaches = {
            "unique": any(state.ids >> draw & 1 for draw in draws),
            "ordered": session.late,
            "well-formed": any(draw % rule.stride >= rule.capacity for draw in draws),
            "durable": draws[-1] // rule.stride > database.marks[0],
        }
        broken = next((promise for promise, breach in breaches.items() if breach and promise in self.promises), "")
        sessions = tuple(
            other._replace(late=True) if other.turn > session.turn and other.draw <= draws[-1] else other
            for other in state.sessions
        )
        ids = state.ids | sum(1 << draw for draw in set(draws))
        if "unique" not in self.promises:
            ids = 1 << ids.bit_length() - 1  # order needs the greatest alone, and says that none is issued twice
        after = database._replace(locked=False) if session.step in HOLDING else database
        shown = " to ".join(rule.show(draw) for draw in (draws[0], draws[-1])[: len(draws)])
        issued = state._replace(sessions=sessions, ids=ids, broken=broken)
        return f"{event}: return {shown}", put(issued, number, done(session), after)

    def _refuse(
        self, state: State, number: int, session: Session, database: Database, reason: str, documented: bool
    ) -> tuple[str, State]:
        broken = "" if documented or "answered" not in self.promises else "answered"
        after = put(state, number, done(session), database._replace(locked=False))
        return f"refuse: {reason}", after._replace(broken=broken)


def done(session: Session) -> Session:
    """Return the session after its present call."""
    return Session(session.script[1:], database=session.database)


def _forget(session: Session) -> Session:
    return session._replace(draw=0, turn=0, late=False, foreign=False)


def _with_mark(marks: tuple[int, ...], mark: int) -> tuple[int, ...]:
    return marks if mark == marks[-1] else (*marks, mark)
