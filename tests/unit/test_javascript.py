"""JSON through a real JavaScript engine: ids as strings keep every digit, those of 53 bits also as numbers."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from typing import Any

import pytest

from shardflake.layout import JAVASCRIPT, MAX_ID, SHARDFLAKE, Layout

NODE = shutil.which("node")
ECHO = "process.stdout.write(JSON.stringify(JSON.parse(require('fs').readFileSync(0, 'utf8'))))"
SORT = "process.stdout.write(JSON.stringify(JSON.parse(require('fs').readFileSync(0, 'utf8')).sort((a, b) => a - b)))"


@pytest.fixture(autouse=True)
def _needs_node() -> None:
    if NODE is None and os.environ.get("CI"):
        pytest.fail("node is not on the path; CI must run these tests")
    if NODE is None:
        pytest.skip("needs node on the path")


def through_node(value: Any, program: str = ECHO) -> Any:
    """Return what a JavaScript program makes of a value that it gets as JSON."""
    assert NODE is not None
    done = subprocess.run([NODE, "-e", program], input=json.dumps(value), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def some_ids(layout: Layout) -> list[int]:
    generator = random.Random(53)
    return [0, 1, layout.largest - 1, layout.largest, *(generator.randint(0, layout.largest) for _ in range(10_000))]


def test_ids_as_strings_keep_every_digit() -> None:
    texts = [str(value) for value in some_ids(SHARDFLAKE)]
    assert through_node(texts) == texts


def test_ids_of_63_bits_as_numbers_lose_digits() -> None:
    assert through_node(MAX_ID) != MAX_ID
    values = some_ids(SHARDFLAKE)
    lost = sum(sent != received for sent, received in zip(values, through_node(values), strict=True))
    assert lost > 0.99 * len(values)


def test_ids_of_53_bits_as_numbers_keep_every_digit_and_their_order() -> None:
    values = some_ids(JAVASCRIPT)
    assert through_node(values) == values
    assert through_node(values, SORT) == sorted(values)
    assert through_node(JAVASCRIPT.largest, "process.stdout.write(String(Number.MAX_SAFE_INTEGER))") == JAVASCRIPT.largest


def test_one_bit_more_would_lose_digits() -> None:
    assert through_node(JAVASCRIPT.largest + 2) != JAVASCRIPT.largest + 2
