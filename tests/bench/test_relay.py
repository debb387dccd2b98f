"""The relay that stands for a network."""

from __future__ import annotations

import time

import psycopg

from shardflake.bench.relay import relayed
from shardflake.server import LocalServer


def test_a_round_trip_takes_longer_and_brings_the_same(local_server: LocalServer) -> None:
    with relayed(local_server.port, 0.05) as port:
        url = psycopg.conninfo.make_conninfo(local_server.url(), port=port)
        with psycopg.connect(url, autocommit=True) as connection:
            started = time.perf_counter()
            row = connection.execute("select repeat('x', 3000000)").fetchone()
            assert time.perf_counter() - started >= 0.05
    assert row == ("x" * 3_000_000,)
