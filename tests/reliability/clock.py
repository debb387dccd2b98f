"""The clock steps and strobes under load: ids stay unique and ascending, and never lead it by more than ``max_lead``.

The control is Instagram's published function, which follows the clock back.
"""

from __future__ import annotations

import random
import time
from array import array
from dataclasses import dataclass
from pathlib import Path

import psycopg

from shardflake.bench import instagram
from shardflake.layout import PRESETS
from tests.load import Batch, examine
from tests.reliability.attack import Clock, Outcome, Sessions, server_with_clock

STEPS = (0.001, 0.01, 0.1, 1, 5, 9, 60, 3600)
MAX_LEAD_MS = 10_000


@dataclass
class _Draws:
    """Statements of the sessions, each with the ids that it received."""

    query: str
    batches: list[Batch]
    seed: int

    def work(self, session: int):  # type: ignore[no-untyped-def]
        chance = random.Random(f"{self.seed} {session}")

        def draw(connection: psycopg.Connection) -> None:
            started = time.monotonic()
            rows = connection.execute(self.query, (chance.choice([1, 1, 10, 2000]),))
            self.batches.append(Batch(session, started, time.monotonic(), array("q", (row[0] for row in rows))))

        return draw


def attack(bin_dir: Path | None, rounds: int, seed: int = 1, *, layout: str = "shardflake", broken: bool = False) -> Outcome:
    """Step the clock back and forth under the load of eight sessions.

    :param rounds: steps of ±1 ms to ±1 h, every fourth one a strobe: 50 small steps in quick succession.
    :param broken: True runs the control.
    """
    outcome = Outcome("clock" + (" with Instagram's function" if broken else ""))
    generator = "instagram.next_id()" if broken else "shardflake.next_id()"
    draws = _Draws(f"select {generator} from generate_series(1, %s)", [], seed)
    chance = random.Random(seed)
    with server_with_clock(bin_dir, layout) as (server, clock), psycopg.connect(server.url(), autocommit=True) as admin:
        instagram.install(admin, shard_id=5)
        sessions = Sessions(server.url(), [draws.work(number) for number in range(8)], outcome)
        for number in range(rounds):
            _step(clock, chance, strobe=number % 4 == 3)
            time.sleep(0.15)
            outcome.rounds += 1
            if not broken:
                _check_lead(admin, layout, outcome)
        sessions.stop()
    findings = examine(draws.batches)
    outcome.ids, outcome.duplicates = findings.ids, findings.duplicates
    outcome.inversions = findings.session_inversions + findings.order_inversions
    return outcome


def _step(clock: Clock, chance: random.Random, *, strobe: bool) -> None:
    if strobe:
        for _ in range(50):
            clock.step(chance.choice([-1, 1]) * chance.uniform(0, 0.2))
            time.sleep(0.002)
        return
    size = chance.choice(STEPS)
    forward = chance.random() < 0.5
    clock.step(size if forward else -size)
    if size > 9:
        time.sleep(0.1)
        clock.step(size + 1 if not forward else 0)  # forward again: else the generator refuses for an hour, rightly


def _check_lead(admin: psycopg.Connection, layout: str, outcome: Outcome) -> None:
    """Count an id drawn now that leads the clock by more than max_lead allows."""
    shift, tick = PRESETS[layout].shifts["time"], PRESETS[layout].tick_ms
    query = f"select ((shardflake.next_id() >> {shift}) - shardflake._tick()) * {tick}"
    try:
        row = admin.execute(query).fetchone()
    except psycopg.Error as error:
        if error.sqlstate != "SF005":
            raise
        outcome.refusals += 1
        return
    if row is not None and row[0] > MAX_LEAD_MS:
        outcome.failures["lead"] = outcome.failures.get("lead", 0) + 1
