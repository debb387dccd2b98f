"""Every order in which two or three sessions can pass through the slow path, one step at a time.

A test build of ``_open_window`` stops at breakpoints: advisory locks that the explorer holds and gives back one by one.
The clock stands still, so that an order always leads to the same result. Orders are explored depth first, each from a fresh
state; a session that waits for the generator's own lock cannot be chosen.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import psycopg

from tests.reliability.attack import replace_function

NOW = 60_000_000_000
"""The tick at which the clock stands."""

_CLASS = 770_000  # first key of a breakpoint's lock, plus its number; the second key is the session

_BREAKPOINTS = (
    "    if not pg_try_advisory_xact_lock(",
    "        v_draw := nextval('shardflake._window')",
    "    v_same_boot := pg_seq",
    "    v_first := greatest(v_now, v_tick + 1);",
    "    v_draw := v_first << ",
    "    v_set := setval('shardflake._opened'",
    "    raise exception using errcode = 'SFEND';  -- aborts",
)
"""Statements before which the test build stops."""
BREAKPOINTS = len(_BREAKPOINTS)

_PAUSE = f"""
create function public.pause(p_point integer) returns void language plpgsql as $$
declare
  v_session constant integer := nullif(current_setting('test.session', true), '');
begin
  if v_session is not null then
    perform pg_advisory_lock_shared({_CLASS} + p_point, v_session);
    perform pg_advisory_unlock_shared({_CLASS} + p_point, v_session);
  end if;
end $$;
create or replace function shardflake._tick() returns bigint language sql volatile parallel safe return {NOW};
"""


def make_test_build(connection: psycopg.Connection, *, lock: bool = True) -> None:
    """Put breakpoints into the slow path and stop the clock; without the lock for the control."""
    connection.execute(_PAUSE)
    changes = [(text, f"    perform public.pause({number});\n{text}") for number, text in enumerate(_BREAKPOINTS, 1)]
    if not lock:
        changes.append(("pg_try_advisory_xact_lock('shardflake._window'::regclass::oid::integer, 1936287346)", "true"))
    replace_function(connection, "_open_window(integer)", *changes)


@dataclass
class Exploration:
    """What came out: how many orders, and those that gave an id twice."""

    orders: int = 0
    duplicates: list[list[int]] = field(default_factory=list)


class Explorer:
    """Runs one call in each session, in every order.

    :param url: of a database with the test build.
    :param calls: SQL for each session, returning a list of ids.
    :param reset: brings the generator into the state to start from.
    """

    def __init__(self, url: str, calls: list[str], reset: Callable[[psycopg.Connection], None]) -> None:
        self._calls = calls
        self._reset = reset
        self._admin = psycopg.connect(url, autocommit=True)
        self._sessions = [psycopg.connect(url, autocommit=True) for _ in calls]
        for number, session in enumerate(self._sessions):
            session.execute(f"set test.session = {number}")
        self._pids = [session.info.backend_pid for session in self._sessions]
        self._pool = ThreadPoolExecutor(len(calls))

    def close(self) -> None:
        """End the sessions, wherever they are."""
        for pid in self._pids:
            self._admin.execute("select pg_terminate_backend(%s)", (pid,))
        self._pool.shutdown()
        for connection in (self._admin, *self._sessions):
            connection.close()

    def explore(self, limit: int) -> Exploration:
        """Run every order, or as many as the limit says."""
        result = Exploration()
        prefix: list[int] = []
        while result.orders < limit:
            order, choices = self._run(prefix, result)
            result.orders += 1
            while order and choices[-1].index(order[-1]) == len(choices[-1]) - 1:
                order.pop()
                choices.pop()
            if not order:
                break
            prefix = [*order[:-1], choices[-1][choices[-1].index(order[-1]) + 1]]
        return result

    def _run(self, prefix: list[int], result: Exploration) -> tuple[list[int], list[list[int]]]:
        self._reset(self._admin)
        for session in range(len(self._calls)):
            for point in range(1, BREAKPOINTS + 1):
                self._admin.execute("select pg_advisory_lock(%s, %s)", (_CLASS + point, session))
        futures = [
            self._pool.submit(self._call, session, query) for session, query in zip(self._sessions, self._calls, strict=True)
        ]
        order: list[int] = []
        choices: list[list[int]] = []
        while (at := self._settle(futures)) or not all(future.done() for future in futures):
            choice = prefix[len(order)] if len(order) < len(prefix) else min(at)
            choices.append(sorted(at))
            order.append(choice)
            self._admin.execute("select pg_advisory_unlock(%s, %s)", (_CLASS + at[choice], choice))
            self._wait_until_left(choice, at[choice])
        self._admin.execute("select pg_advisory_unlock_all()")
        ids = [value for future in futures for value in future.result()]
        if len(ids) != len(set(ids)):
            result.duplicates.append(list(order))
        return order, choices

    @staticmethod
    def _call(session: psycopg.Connection, query: str) -> list[int]:
        row = session.execute(query).fetchone()
        assert row is not None
        return list(row[0])

    def _settle(self, futures: list[Future[list[int]]]) -> dict[int, int]:
        """Wait until every session is at a breakpoint, waits for the generator's lock, or is done; return who is at which."""
        query = "select pid, classid::bigint from pg_locks where locktype = 'advisory' and not granted and pid = any(%s)"
        while True:
            done = {number for number, future in enumerate(futures) if future.done()}
            waiting = {self._pids.index(pid): point - _CLASS for pid, point in self._admin.execute(query, (self._pids,))}
            if done | waiting.keys() == set(range(len(futures))):
                at = {number: point for number, point in waiting.items() if 1 <= point <= BREAKPOINTS}
                if at or len(done) == len(futures):
                    return at
            time.sleep(0.0005)

    def _wait_until_left(self, session: int, point: int) -> None:
        query = "select count(*) from pg_locks where not granted and pid = %s and classid::bigint = %s"
        while self._admin.execute(query, (self._pids[session], _CLASS + point)).fetchone() != (0,):
            time.sleep(0.0005)
