"""The control that repeats ids must be what it is said to be: the published bits, and nothing that keeps duplicates out."""

from __future__ import annotations

from datetime import UTC, datetime

import psycopg

from shardflake.bench import instagram
from shardflake.layout import INSTAGRAM


def test_ids_hold_time_shard_and_a_counter_that_goes_on(connection: psycopg.Connection) -> None:
    instagram.install(connection, 341)
    before = datetime.now(UTC).timestamp() * 1000
    ids = [row[0] for row in connection.execute("select instagram.next_id() from generate_series(1, 2000)")]
    after = datetime.now(UTC).timestamp() * 1000

    assert {row_id >> 10 & 8191 for row_id in ids} == {341}
    assert [row_id & 1023 for row_id in ids] == [number % 1024 for number in range(1, 2001)]
    times = [(row_id >> 23) + INSTAGRAM.epoch_ms for row_id in ids]
    assert times == sorted(times)
    assert before - 1 <= times[0] <= times[-1] <= after + 1
    assert min(ids) > 0
