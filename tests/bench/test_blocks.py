"""Statistics against samples worked out by hand, some with an outlier."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest

from shardflake.bench.blocks import Sample, plan, ratio
from shardflake.bench.generator.contenders import AGAIN, BASELINE
from shardflake.bench.generator.targets import TARGETS, outcomes, resolution


def samples(values: Mapping[str, Sequence[float]], workload: str = "bulk", metric: str = "rows_per_s") -> list[Sample]:
    """One sample per block and contender, blocks from 1."""
    return [
        Sample(block, 1, workload, name, metric, value)
        for name, column in values.items()
        for block, value in enumerate(column, 1)
    ]


def test_a_slow_block_slows_both_and_leaves_the_ratio() -> None:
    found = ratio(samples({BASELINE: [100, 100, 10], "shardflake": [80, 80, 8]}), "bulk", "rows_per_s", "shardflake", BASELINE)
    assert found is not None
    assert (found.mean, found.low, found.high) == pytest.approx((0.8, 0.8, 0.8))


def test_only_blocks_that_have_both_count() -> None:
    found = ratio(samples({BASELINE: [100, 100, 100], "shardflake": [50, 50]}), "bulk", "rows_per_s", "shardflake", BASELINE)
    assert found is not None
    assert (found.mean, found.blocks) == (0.5, 2)
    assert ratio(samples({BASELINE: [100, 100], "shardflake": [50]}), "bulk", "rows_per_s", "shardflake", BASELINE) is None


def test_resolution_reaches_to_the_farther_end_of_the_pair() -> None:
    # Base-2 logarithms of again : bigserial are -1 and 0: mean -0.5, standard error 0.5.
    found = samples({BASELINE: [100, 100], AGAIN: [50, 100]})
    assert math.log2(resolution(found, "bulk", "rows_per_s")) == pytest.approx(0.5 + 0.5 * 12.7062, rel=1e-5)


@pytest.mark.parametrize(
    ("ours", "again", "verdict"),
    [
        ([80, 81, 80, 81], [101, 100, 99, 100], "pass"),
        ([70, 71, 70, 71], [101, 100, 99, 100], "miss"),
        ([75, 76, 75, 76], [101, 100, 99, 100], "~"),
        ([70, 71, 70, 71], [130, 100, 70, 100], "~"),
        ([100, 50, 100, 50], [101, 100, 99, 100], "~"),
    ],
)
def test_verdict_on_the_bulk_target(ours: list[float], again: list[float], verdict: str) -> None:
    found = outcomes(samples({BASELINE: [100] * 4, AGAIN: again, "shardflake": ours}))
    (bulk,) = [each for each in found if each.target.label == "Bulk rows/s, default : bigserial"]
    assert bulk.verdict == verdict
    assert {each.verdict for each in found if each.target.workload != "bulk"} == {"-"}


@pytest.mark.parametrize(("statements", "verdict"), [(5, "pass"), (10, "pass"), (11, "miss")])
def test_verdict_on_a_count(statements: int, verdict: str) -> None:
    found = outcomes(samples({"shardflake": [statements] * 3}, "orm", "statements"))
    assert [each.verdict for each in found if each.target.workload == "orm"] == [verdict]


def test_every_target_has_one_bound() -> None:
    assert all((target.at_least is None) != (target.at_most is None) for target in TARGETS)


def test_plan_has_everyone_in_every_block_in_another_order() -> None:
    workloads = {"bulk": ["a", "b", "c", "d"], "copy": ["a", "b", "c"], "loop": ["a"]}
    plans = [plan(workloads, 7, block) for block in range(10)]
    everyone = sorted((workload, contender) for workload, contenders in workloads.items() for contender in contenders)
    assert all(sorted(each) == everyone for each in plans)
    assert len({tuple(each) for each in plans}) > 5
    assert plan(workloads, 7, 3) == plans[3]
