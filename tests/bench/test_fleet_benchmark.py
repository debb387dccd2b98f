"""The benchmark of fleets runs, and says when a limit is missed."""

from __future__ import annotations

from shardflake.bench.fleet import Measured, measure
from shardflake.server import LocalServer


def test_it_measures_everything_on_a_small_fleet() -> None:
    with LocalServer(settings={"fsync": "off", "shared_buffers": "32MB"}) as server:
        results = list(measure(server, 3, 4, 2, 50, 7))
    assert [result.unit for result in results] == ["s", "s", "s", "µs", "rows", "MiB"]
    assert [result.what for result in results if not result.met] == []
    assert all(result.value > 0 for result in results)
    assert results[-1].value > 20


def test_a_limit_that_is_missed_is_not_met() -> None:
    assert not Measured("x", 61, 60, "s").met
    assert Measured("x", 60, 60, "s").met
