"""Many sessions of mixed statements: no id twice, ascending in each session and in the order of drawing.

The control is Instagram's published function.
"""

from __future__ import annotations

from pathlib import Path

import psycopg

from shardflake.bench import instagram
from shardflake.layout import PRESETS
from tests.load import Load, create_table, examine
from tests.reliability.attack import Outcome, attacked_server

SESSIONS = (2, 8, 32)
IDS_A_ROUND = 1_000_000


def full_load(layout: str) -> int:
    """Return how many ids a round draws: a million, or what the layout holds in four seconds if that is less."""
    counter = next(field for field in PRESETS[layout].fields if field.name == "counter")
    return min(IDS_A_ROUND, 4_000 * counter.capacity // PRESETS[layout].tick_ms)


def attack(bin_dir: Path | None, rounds: int, seed: int = 1, *, layout: str = "shardflake", broken: bool = False) -> Outcome:
    """Draw a million ids a round, fewer where the layout holds fewer, by 2, 8 and 32 sessions in turn."""
    outcome = Outcome("uniqueness" + (" of Instagram's function" if broken else ""))
    generator = "instagram.next_id()" if broken else "shardflake.next_id()"
    with attacked_server(bin_dir, layout, synchronous_commit="off", shared_buffers="256MB") as server:
        last = -1
        for number in range(rounds):
            with psycopg.connect(server.url(), autocommit=True) as connection:
                connection.execute("drop table if exists load")
                connection.execute("drop schema if exists instagram cascade")
                instagram.install(connection, shard_id=5)
                create_table(connection, generator)
            sessions = SESSIONS[number % len(SESSIONS)]
            batches = Load(
                server.url(), generator, sessions, (IDS_A_ROUND if broken else full_load(layout)) // sessions, seed + number
            ).run()
            findings = examine(batches)
            smallest, largest = (pick(pick(batch.ids) for batch in batches if batch.ids) for pick in (min, max))
            outcome.inversions += findings.session_inversions + findings.order_inversions + (smallest <= last)
            outcome.duplicates += findings.duplicates
            outcome.ids += findings.ids
            outcome.rounds += 1
            last = largest
    return outcome
