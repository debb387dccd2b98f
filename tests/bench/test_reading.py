"""The page that says how to read the report: its formulas give its values, and its ranges are those of the code."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from shardflake.bench.reporting.headline import EXPECTED
from shardflake.bench.reporting.speed import FAST_PATH_ROWS

PAGE = (Path(__file__).parents[2] / "docs" / "benchmarks" / "reading.md").read_text()
FORMULAS = re.findall(r"^\| ([^|]+) \| `([^`]+)` \| ([\d,.]+) \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("name", "formula", "value"), FORMULAS, ids=[name for name, *_ in FORMULAS])
def test_a_formula_gives_the_value_beside_it(name: str, formula: str, value: str) -> None:
    digits = len(value.partition(".")[2])
    assert f"{eval(formula, {'log': math.log, 'exp': math.exp}):,.{digits}f}" == value, name


def test_the_formulas_are_there() -> None:
    assert len(FORMULAS) == 15
    rows = {name: value for name, _, value in FORMULAS}
    assert round(float(rows["rows above which the root is on level 2, 64 bits"].replace(",", "")), -3) == FAST_PATH_ROWS


def test_the_expected_ranges_are_those_of_the_report() -> None:
    table = re.findall(r"^\| ([^|]+) \| ([\d.]+) to ([\d.]+) \|$", PAGE, re.MULTILINE)
    coded = [(each.label, f"{each.low:.{each.digits}f}", f"{each.high:.{each.digits}f}") for each in EXPECTED]
    assert table == coded
