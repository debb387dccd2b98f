"""What the model is made of: the rules of the generator, the world around it, and the state of both.

Time is counted in ticks, and every number is as small as it can be while all comparisons stay as they are in SQL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

BEHIND = 1  # how far a draw may lie behind the clock on the fast path; 8 ms in SQL
AHEAD = 1  # and ahead of it; 119 ms
BEHIND_FRESH = 2  # behind the clock for a draw made while another session opens a window; 20 ms
LEAST_LIMIT = 1  # what max_lead = 0 still allows; 127 ms
START = 4  # where the clock starts
EARLIEST = 3  # how far it may go back: window 0, where _window is after a crash, stays out of reach, as the epoch does
CONFIRM = 0  # in a script: a call of confirm_identity(); other entries are numbers of ids to ask for

ORDER = ("mark", "flush", "window", "opened", "incarnation")
PROMISES = frozenset({"unique", "ordered", "well-formed", "durable", "unlocked", "answered"})


@dataclass(frozen=True)
class Protocol:
    """The rules of the generator. Each default is the rule in force; a mutant changes one."""

    capacity: int = 2  # ids of a window; 1,024
    void: int = 2  # values of a window's tick that are no ids; 2^23 - 1,024
    endless: bool = True  # void counters never run out, so one stands for all; else the last is followed by the next tick
    reserve: int = 2  # how far the mark is raised above a window; 3,000 ms
    margin: int = 1  # how close to the mark a window may come before it is raised; 1,000 ms
    jump: int = 2  # extra distance of the first window after a restart; 1,000 ms
    order: tuple[str, ...] = ORDER
    confirm_order: tuple[str, ...] = ("incarnation", "mark", "flush", "window", "opened")
    flush: bool = True
    lock: bool = True
    subtransaction: bool = True  # else the lock belongs to the session, and a cancel leaves it behind
    check_clock: bool = True
    check_counter: bool = True
    check_file: bool = True
    check_file_when_planned: bool = True  # on the fast path, whose expression is planned in the database that it runs in
    check_incarnation: bool = True
    identity_before_fresh_draw: bool = True
    mark_after_restart: bool = True
    above_mark: int = 1  # v_mark + 1
    above_tick: int = 1  # v_tick + 1
    tick_of_draw: bool = True  # v_tick is the greatest of the session's draw
    tick_of_last_value: bool = True  # and the sequence's last value
    mark_never_lowered: bool = True
    distrust_unfinished: bool = True  # flush again after an opening that raised the mark and did not come as far as _opened
    allow_jump: bool = True  # the first window after a restart may lead by the jump on top of max_lead
    pace: bool = True  # at most one window a tick while ids lead the clock

    @property
    def stride(self) -> int:
        """Distance from one window's first draw to that of the next tick."""
        return self.capacity + self.void

    def show(self, draw: int) -> str:
        """Write a draw as tick.counter."""
        tick, counter = divmod(draw, self.stride)
        return f"{tick}.{counter}"


class World(NamedTuple):
    """How often each thing may still happen, and what the administrator chose."""

    clock: int = 0  # steps of the clock by a tick, forward or back
    steady: bool = False  # the clock never steps back
    stalls: bool = False  # it may stand still until a session gives up waiting for it
    crashes: int = 0
    restarts: int = 0  # clean ones
    cancels: int = 0
    copies: int = 0  # CREATE DATABASE ... TEMPLATE
    alters: int = 0  # ALTER SEQUENCE _window: its value becomes the one after a crash, its file another
    saves: int = 0  # a platform stores the unlogged sequences, and the next crash is a failover to that old state
    max_lead: int = 12  # 10 s
    within_reach: bool = False  # whether a window of an old state may meet the clock on the fast path


class Database(NamedTuple):
    """One database's sequences and lock."""

    window: int = 0  # the last draw, tick * stride + counter
    marks: tuple[int, ...] = (0,)  # the durable mark, then those that only WAL buffers have; the last is current
    opened: int = 0
    current: bool = False  # _incarnation is the running server's start time
    armed: bool = True  # the file path is the recorded one
    locked: bool = False
    foreign: bool = False  # _window is a copy or an old state: no opening here has set it since
    initial: int = 0  # what a crash resets _window to


class Session(NamedTuple):
    """One session: its present call and those to come, the next step, and its variables."""

    script: tuple[int, ...]
    step: str = "idle"
    database: int = 0
    draw: int = 0
    turn: int = 0  # rank of the draw among the sessions' pending draws, by the time they were made; 0: none
    late: bool = False  # an id as large was issued from an earlier draw: this one must never be used
    foreign: bool = False  # drawn from a foreign window
    now: int = 0
    current: bool = False  # v_same_boot
    tick: int = 0
    first: int = 0
    mark: int = 0  # the mark to set, or 0 if it needs no raising


class State(NamedTuple):
    """Everything at one moment. ``ids`` is a set of issued draws, one bit each; ``broken`` names a promise that was broken."""

    clock: int
    databases: tuple[Database, ...]
    sessions: tuple[Session, ...]
    ids: int
    world: World
    broken: str = ""


def put(state: State, number: int, session: Session, database: Database | None = None) -> State:
    """Return the state with one session replaced and, if given, its database."""
    sessions = (*state.sessions[:number], session, *state.sessions[number + 1 :])
    if database is None:
        return state._replace(sessions=sessions)
    place = session.database
    return state._replace(sessions=sessions, databases=(*state.databases[:place], database, *state.databases[place + 1 :]))
