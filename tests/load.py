"""Load on a generator, and what is wrong with the ids that came out of it.

The same load and the same findings serve every generator: ours must come out clean, a broken one must not.
"""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import psycopg
from psycopg import sql

TABLE = "load"


@dataclass(slots=True)
class Batch:
    """The ids that one statement gave a client, in the order in which they were drawn, and when it ran (monotonic, s)."""

    session: int
    started: float
    ended: float
    ids: array[int]


@dataclass(slots=True)
class Findings:
    """What is wrong with the ids of a run; a sound generator has zeros everywhere but in ``ids``."""

    ids: int = 0
    duplicates: int = 0
    session_inversions: int = 0
    """Ids not above the one that the same session drew before."""
    order_inversions: int = 0
    """Statements with an id not above one of a statement that had ended before they began, in any session."""

    @property
    def clean(self) -> bool:
        return not (self.duplicates or self.session_inversions or self.order_inversions)


@dataclass
class Load:
    """Mixed statements of many sessions on one database.

    :param dsn: libpq string of a database that holds the table made by :func:`create_table`.
    :param generator: SQL of the call that makes an id, such as ``shardflake.next_id()``.
    :param sessions: how many connections, each on a thread.
    :param ids_per_session: when a session stops, at the earliest.
    :param seed: of the choice of statements.
    """

    dsn: str
    generator: str
    sessions: int
    ids_per_session: int
    seed: int = 1
    batches: list[Batch] = field(default_factory=list)

    def run(self) -> list[Batch]:
        """Run the load and return what every statement received, rolled-back ones too."""
        failures: list[BaseException] = []

        def work(session: int) -> None:
            try:
                self._session(session)
            except BaseException as error:  # handed to the test, which a thread could not fail
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(self.sessions)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        return self.batches

    def _session(self, session: int) -> None:
        random = Random(f"{self.seed} {session}")
        kinds: list[tuple[Callable[..., array[int]], int]] = [
            (self._select, 20_000), (self._select, 300), (self._single, 1), (self._insert, 5_000), (self._insert, 1),
            (self._copy_in, 2_000), (self._savepoint, 500), (self._rollback, 500),
        ]  # fmt: skip
        drawn = 0
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            while drawn < self.ids_per_session:
                kind, size = random.choice(kinds)
                started = time.monotonic()
                ids = kind(connection, session, random.randint(1, size))
                self.batches.append(Batch(session, started, time.monotonic(), ids))
                drawn += len(ids)

    def _call(self) -> sql.SQL:
        return sql.SQL(self.generator)

    def _select(self, connection: psycopg.Connection, session: int, count: int) -> array[int]:
        query = sql.SQL("copy (select {} from generate_series(1, {})) to stdout").format(self._call(), count)
        with connection.cursor() as cursor, cursor.copy(query) as copy:
            return _numbers(copy)

    def _single(self, connection: psycopg.Connection, session: int, count: int) -> array[int]:
        row = connection.execute(sql.SQL("select {}").format(self._call())).fetchone()
        assert row is not None
        return array("q", row)

    def _insert(self, connection: psycopg.Connection, session: int, count: int) -> array[int]:
        query = f"insert into {TABLE} (session, n) select %s, n from generate_series(1, %s) n returning id"
        return array("q", (row[0] for row in connection.execute(query, (session, count))))

    def _copy_in(self, connection: psycopg.Connection, session: int, count: int) -> array[int]:
        with connection.transaction():
            last = connection.execute(f"select coalesce(max(n), 0) from {TABLE} where session = %s", (-session - 1,)).fetchone()
            assert last is not None
            with connection.cursor() as cursor, cursor.copy(f"copy {TABLE} (session, n) from stdin") as copy:
                copy.write("".join(f"{-session - 1}\t{last[0] + n}\n" for n in range(1, count + 1)))
            rows = connection.execute(
                f"select id from {TABLE} where session = %s and n > %s order by n", (-session - 1, last[0])
            )
            return array("q", (row[0] for row in rows))

    def _savepoint(self, connection: psycopg.Connection, session: int, count: int) -> array[int]:
        with connection.transaction():
            ids = self._insert(connection, session, count)
            with connection.transaction() as inner:
                ids += self._insert(connection, session, count)
                raise psycopg.Rollback(inner)
            ids += self._insert(connection, session, count)
        return ids

    def _rollback(self, connection: psycopg.Connection, session: int, count: int) -> array[int]:
        ids = array("q")
        with connection.transaction() as transaction:
            ids = self._insert(connection, session, count)
            raise psycopg.Rollback(transaction)
        return ids


def create_table(connection: psycopg.Connection, generator: str) -> None:
    """Create the table that the load writes to; no unique index, since duplicates are to be counted."""
    connection.execute(
        sql.SQL("create unlogged table {} (id bigint default {}, session integer, n bigint)").format(
            sql.Identifier(TABLE),
            sql.SQL(generator),
        )
    )
    connection.execute(f"create index on {TABLE} (session, n) where session < 0")


def examine(batches: list[Batch]) -> Findings:
    """Find duplicates and inversions in the ids of a run."""
    findings = Findings()
    every = array("q")
    last_of_session: dict[int, int] = {}
    for batch in sorted(batches, key=lambda batch: (batch.session, batch.started)):
        last = last_of_session.get(batch.session, -1)
        for value in batch.ids:
            if value <= last:
                findings.session_inversions += 1
            last = value
        last_of_session[batch.session] = last
        every.extend(batch.ids)
    findings.ids = len(every)
    findings.duplicates = len(every) - len(set(every))
    findings.order_inversions = _order_inversions(batches)
    return findings


def _order_inversions(batches: list[Batch]) -> int:
    """Count the statements that drew an id not above one of a statement that had ended before they began."""
    inversions = 0
    highest = -1
    by_end = sorted((batch for batch in batches if batch.ids), key=lambda batch: batch.ended)
    ended = 0
    for batch in sorted((batch for batch in batches if batch.ids), key=lambda batch: batch.started):
        while ended < len(by_end) and by_end[ended].ended < batch.started:
            highest = max(highest, max(by_end[ended].ids))
            ended += 1
        if min(batch.ids) <= highest:
            inversions += 1
    return inversions


def _numbers(copy: psycopg.Copy) -> array[int]:
    return array("q", map(int, b"".join(map(bytes, copy)).split()))
