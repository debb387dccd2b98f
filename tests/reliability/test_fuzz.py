"""Random sequences of what can happen to a shard, against a reference; and a million values read the same in SQL and Python."""

from __future__ import annotations

import random
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

import shardflake
from shardflake.connect import make_engine
from shardflake.errors import ShardflakeError
from tests.reliability.attack import server_with_clock

MAX_LEAD = 10_000
RESTART = 4_001
"""How far ahead of everything before a restart may start: a mark that is 3 s ahead, a second more, and the next tick."""


FEW = settings(
    max_examples=8,
    stateful_step_count=25,
    deadline=None,
    phases=(Phase.generate,),  # each step is slow: a failure is reported as found, not shrunk
    suppress_health_check=list(HealthCheck),
)


class Shard(RuleBasedStateMachine):
    """A shard and what is known of it: the last id, and how far ahead of the clock it may rightly be."""

    bin_dir: Path | None = None

    def __init__(self) -> None:
        super().__init__()
        self._stack = ExitStack()
        self.server, self.clock = self._stack.enter_context(server_with_clock(self.bin_dir, fsync="off"))
        self.connection = self._connect()
        self.last = -1
        self.allowed = 0  # the highest tick that the reference expects
        self.most_lead = MAX_LEAD

    def _connect(self) -> psycopg.Connection:
        return psycopg.connect(self.server.url(), autocommit=True)

    def _now(self) -> int:
        row = self.connection.execute("select shardflake._tick()").fetchone()
        assert row is not None
        return int(row[0])

    def _take(self, query: str) -> None:
        before = self._now()
        try:
            ids = [row[0] for row in self.connection.execute(query)]
        except psycopg.Error as error:
            if error.sqlstate != "SF005":
                raise
            assert self.allowed > before + MAX_LEAD - 150, "refused although the clock was near enough"
            return
        now = self._now()
        assert ids == sorted(set(ids))
        assert ids[0] > self.last, "an id did not ascend"
        assert ids[0] >> 23 >= before - 20
        windows = len(ids) // 1024 + 2
        self.allowed = max(self.allowed + windows, now + 127)
        assert ids[-1] >> 23 <= self.allowed
        assert ids[-1] >> 23 <= now + self.most_lead + 1
        self.last = ids[-1]

    @rule(count=st.integers(1, 3000))
    def draw(self, count: int) -> None:
        self._take(f"select shardflake.next_id() from generate_series(1, {count})")

    @rule(count=st.integers(1, 20_000))
    def draw_many(self, count: int) -> None:
        self._take(f"select shardflake.next_ids({count})")

    @rule()
    def draw_and_roll_back(self) -> None:
        with self.connection.transaction(force_rollback=True):
            self._take("select shardflake.next_id() from generate_series(1, 10)")

    @rule(seconds=st.floats(-4, 4))
    def step_the_clock(self, seconds: float) -> None:
        self.clock.step(seconds)

    @rule(mode=st.sampled_from(["fast", "immediate"]))
    def restart(self, mode: str) -> None:
        self.connection.close()
        self.server.stop(mode)
        self.server.start()
        self.connection = self._connect()
        if self.last >= 0:
            self.allowed = max(self.allowed + RESTART, self._now() + 1_127)
            self.most_lead = MAX_LEAD + 1_000  # the first window after a restart may open a second beyond the limit

    @precondition(lambda self: self.last >= 0)
    @rule()
    def confirm(self) -> None:
        with suppress(psycopg.Error):
            self.connection.execute("select * from shardflake.confirm_identity()")
        self.allowed = max(self.allowed + RESTART, self._now() + 1_300)

    @invariant()
    def no_lock_is_left(self) -> None:
        row = self.connection.execute("select count(*) from pg_locks where locktype = 'advisory'").fetchone()
        assert row == (0,)

    def teardown(self) -> None:
        self.connection.close()
        self._stack.close()


@pytest.fixture(autouse=True)
def given_server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the machine, which pytest does not make, on the server of ``--pg-bin``."""
    monkeypatch.setattr(Shard, "bin_dir", request.config.getoption("--pg-bin"))


def test_no_sequence_of_events_breaks_a_promise() -> None:
    run_state_machine_as_test(Shard, settings=FEW)


class Forgetful(Shard):
    """The control: a restart that forgets the mark."""

    @precondition(lambda self: self.last >= 0)
    @rule()
    def lose_the_mark(self) -> None:
        self.clock.step(-60)
        self.connection.execute("select setval('shardflake._high_water', 1), setval('shardflake._window', 0)")
        self.connection.execute("select setval('shardflake._opened', 0), setval('shardflake._incarnation', 0)")
        self._take("select shardflake.next_id() from generate_series(1, 10)")


@pytest.mark.once
def test_a_generator_that_forgets_the_mark_is_caught() -> None:
    with pytest.raises(AssertionError, match="did not ascend"):
        run_state_machine_as_test(Forgetful, settings=FEW)


def test_a_million_ids_read_the_same_in_sql_and_python(connection: psycopg.Connection) -> None:
    chance = random.Random(42)
    query = (
        "select (extract(epoch from shardflake.timestamp_of(i)) * 1000)::bigint - shardflake.epoch_ms(), "
        "shardflake.shard_of(i), shardflake.counter_of(i) from unnest(%s::bigint[]) with ordinality u (i, n) order by n"
    )
    for _ in range(10):
        ids = [chance.randrange(2**63) for _ in range(100_000)]
        expected = [tuple(shardflake.SHARDFLAKE.decode(value).values()) for value in ids]
        assert connection.execute(query, (ids,)).fetchall() == expected


@given(
    st.one_of(
        st.text(), st.from_regex(r"(postgres|postgresql|postgresql\+psycopg)://[^ ]{0,40}"), st.from_regex(r"\w+=\S* \w+=\S*")
    )
)
def test_no_url_raises_anything_but_our_errors(text: str) -> None:
    with suppress(ShardflakeError):
        make_engine(text)


@given(st.one_of(st.text(), st.integers(), st.floats(), st.binary(), st.none(), st.booleans()))
def test_no_id_raises_anything_but_our_errors(value: Any) -> None:
    with suppress(ShardflakeError):
        shardflake.decode(value)
