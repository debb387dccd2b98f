"""Ids through the JSON of a real JavaScript engine."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess

import pytest

from shardflake import JAVASCRIPT, PRESETS

NODE = shutil.which("node")
COPY = 'process.stdout.write(JSON.stringify(JSON.parse(require("fs").readFileSync(0, "utf8"))))'


@pytest.fixture(autouse=True)
def _needs_node() -> None:
    if NODE is None and os.environ.get("CI"):
        pytest.fail("node is not on the path; CI must run these tests")
    if NODE is None:
        pytest.skip("needs node on the path")


def through_javascript(text: str) -> str:
    """Return JSON as JavaScript reads and writes it."""
    assert NODE is not None
    return subprocess.run([NODE, "-e", COPY], input=text, capture_output=True, text=True, check=True).stdout


def values(bits: int) -> list[int]:
    chooser = random.Random(3)
    return [0, 1, 2**bits - 1, 2**bits - 2, *(chooser.getrandbits(bits) for _ in range(10_000))]


@pytest.mark.parametrize("name", PRESETS)
def test_every_digit_of_a_string_comes_back(name: str) -> None:
    ids = [str(value) for value in values(PRESETS[name].bits)]
    assert json.loads(through_javascript(json.dumps(ids))) == ids


def test_every_digit_of_a_number_of_the_javascript_layout_comes_back() -> None:
    ids = values(JAVASCRIPT.bits)
    assert json.loads(through_javascript(json.dumps(ids))) == ids


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "javascript"])
def test_a_number_of_63_bits_loses_digits(name: str) -> None:
    ids = values(PRESETS[name].bits)
    changed = [a != b for a, b in zip(ids, json.loads(through_javascript(json.dumps(ids))), strict=True)]
    assert sum(changed) > len(ids) * 0.9


def test_one_bit_more_than_the_javascript_layout_loses_digits() -> None:
    assert json.loads(through_javascript(json.dumps(JAVASCRIPT.largest + 2))) != JAVASCRIPT.largest + 2
