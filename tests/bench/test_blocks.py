"""Statistics against samples worked out by hand, some with an outlier."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest

from shardflake.bench.blocks import Sample, estimate, plan, ratio, student_t
from shardflake.bench.generator.contenders import AGAIN, BASELINE
from shardflake.bench.generator.targets import TARGETS, outcomes, resolution


def samples(values: Mapping[str, Sequence[float]], workload: str = "bulk", metric: str = "rows_per_s") -> list[Sample]:
    """One sample per block and contender, blocks from 1."""
    return [
        Sample(block, 1, workload, name, metric, value)
        for name, column in values.items()
        for block, value in enumerate(column, 1)
    ]


@pytest.mark.parametrize(
    ("degrees", "quantile"),
    [(1, 12.7062), (2, 4.30265), (3, 3.18245), (4, 2.77645), (9, 2.26216), (10, 2.22814), (30, 2.04227)],
)
def test_quantiles_of_student(degrees: int, quantile: float) -> None:
    assert student_t(degrees) == pytest.approx(quantile, rel=1e-5)


def test_estimate_with_an_outlier() -> None:
    # Base-2 logarithms 0 0 0 0 4: mean 0.8, variance (4 * 0.64 + 10.24) / 4 = 3.2, standard error sqrt(3.2 / 5) = 0.8.
    found = estimate([1, 1, 1, 1, 16])
    assert found.blocks == 5
    assert math.log2(found.mean) == pytest.approx(0.8)
    assert math.log2(found.low) == pytest.approx(0.8 - 0.8 * 2.776445, rel=1e-6)
    assert math.log2(found.high) == pytest.approx(0.8 + 0.8 * 2.776445, rel=1e-6)
    assert found.low < 1 < found.high, "one wild block must not make a difference that the other four do not show"


def test_estimate_of_a_ratio_and_of_its_inverse_agree() -> None:
    forth, back = estimate([2, 3, 5]), estimate([1 / 2, 1 / 3, 1 / 5])
    assert (forth.mean * back.mean, forth.low * back.high) == pytest.approx((1, 1))


def test_equal_values_have_no_interval_and_no_rounding() -> None:
    found = estimate([10, 10, 10])
    assert (found.mean, found.low, found.high) == (10, 10, 10)


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 0.0], [1.0, -1.0]])
def test_what_has_no_interval_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="two values or more"):
        estimate(values)


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
