"""Statistics against samples worked out by hand, some with an outlier."""

from __future__ import annotations

import math

import pytest

from shardflake.bench.statistics import change, compare, estimate, geometric_mean, resolution, student_t


@pytest.mark.parametrize(
    ("degrees", "quantile"),
    [(1, 12.7062), (2, 4.30265), (3, 3.18245), (4, 2.77645), (9, 2.26216), (10, 2.22814), (30, 2.04227)],
)
def test_quantiles_of_student(degrees: int, quantile: float) -> None:
    assert student_t(degrees) == pytest.approx(quantile, rel=1e-5)


@pytest.mark.parametrize(("degrees", "confidence", "quantile"), [(2, 0.99, 9.92484), (9, 0.999, 4.78091), (18, 0.9, 1.73406)])
def test_quantiles_of_student_at_other_levels(degrees: int, confidence: float, quantile: float) -> None:
    assert student_t(degrees, confidence) == pytest.approx(quantile, rel=1e-5)


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


@pytest.mark.parametrize("values", [[], [0.0], [2.0, -1.0]])
def test_a_geometric_mean_of_what_has_none_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="positive"):
        geometric_mean(values)


def blocks(*values: float) -> dict[int, float]:
    return dict(enumerate(values, 1))


def test_a_ratio_is_taken_within_each_block() -> None:
    # ratios 2 8 2 8; base-2 logarithms 1 3 1 3: mean 2, variance 4/3, standard error sqrt(1/3)
    found = compare(blocks(2, 80, 20, 8), blocks(1, 10, 10, 1), blocks(1.01, 9.9, 10.1, 0.99))
    assert found is not None
    assert found.estimate is not None
    assert found.mean == pytest.approx(4)
    assert math.log2(found.estimate.high) == pytest.approx(2 + 3.182446 / math.sqrt(3), rel=1e-5)
    assert math.log2(found.estimate.low) == pytest.approx(2 - 3.182446 / math.sqrt(3), rel=1e-5)
    assert found.claimed
    assert found.text() == "4.00"


def test_an_outlier_takes_the_claim_away() -> None:
    steady = compare(blocks(1.2, 1.21, 1.2, 1.21, 1.2), blocks(1, 1, 1, 1, 1), blocks(1.01, 0.99, 1.01, 0.99, 1))
    wild = compare(blocks(1.2, 1.21, 1.2, 1.21, 0.2), blocks(1, 1, 1, 1, 1), blocks(1.01, 0.99, 1.01, 0.99, 1))
    assert steady is not None
    assert wild is not None
    assert (steady.text(), wild.text()) == ("1.20", "~")


def test_nothing_inside_the_band_is_claimed() -> None:
    # the twin's base-2 logarithms are -1 and 0: mean -0.5, standard error 0.5, quantile 12.7062
    band = resolution(blocks(50, 100), blocks(100, 100))
    assert band is not None
    assert math.log2(band) == pytest.approx(0.5 + 0.5 * 12.7062, rel=1e-5)
    inside = compare(blocks(150, 150), blocks(100, 100), blocks(50, 100))
    outside = compare(blocks(150, 150), blocks(100, 100), blocks(100, 100))
    assert inside is not None
    assert outside is not None
    assert (inside.text(), outside.text()) == ("~", "1.50")


def test_no_claim_without_a_twin_or_from_one_block() -> None:
    for found in (
        compare(blocks(150, 151), blocks(100, 100), None),
        compare(blocks(150), blocks(100), blocks(100)),
    ):
        assert found is not None
        assert not found.claimed
        assert found.mean == pytest.approx(1.5, rel=0.01)
    assert compare(blocks(1), {}, None) is None


def test_exactly_the_same_is_no_difference() -> None:
    found = compare(blocks(5, 5), blocks(5, 5), blocks(5, 5))
    assert found is not None
    assert found.text() == "~"


def test_change_between_two_runs() -> None:
    # base-2 logarithms: before 0 2 (mean 1, variance 2), after 3 5 (mean 4, variance 2): standard error sqrt(2),
    # degrees 2^2 / (1 + 1) = 2
    found = change([1, 4], [8, 32])
    assert found is not None
    assert found.mean == pytest.approx(8)
    assert math.log2(found.high) == pytest.approx(3 + 4.30265 * math.sqrt(2), rel=1e-5)
    assert math.log2(found.low) == pytest.approx(3 - 4.30265 * math.sqrt(2), rel=1e-5)


def test_change_of_counts_has_no_interval() -> None:
    found = change([10, 10, 10], [11, 11])
    assert found is not None
    assert (found.mean, found.low, found.high, found.blocks) == (1.1, 1.1, 1.1, 2)
    assert change([10], [11, 11]) is None
    assert change([10, 0], [11, 11]) is None
