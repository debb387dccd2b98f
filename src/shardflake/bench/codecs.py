"""Measure how fast ids are encoded and decoded in Python, on one core: ``python -m shardflake.bench.codecs``.

Prints a Markdown table, which ``--page docs/formats.md`` also puts between the marks ``<!-- codecs -->`` of a page. Times are
processor times of this process, so that other programs on the machine lengthen them little; each is the best of several rounds.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from shardflake import arrays, ids, ulid, uuids
from shardflake.layout import PRESETS, SHARDFLAKE, Layout

ROUNDS = 7
SCALARS = 100_000
ARRAY = 4_000_000
_MARKS = re.compile(r"(?<=<!-- codecs -->\n).*?(?=<!-- /codecs -->)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Figure:
    """One row: what was done, for which kind, and how many a second."""

    work: str
    kind: str
    per_second: float


def measure(work: Callable[[], object], count: int) -> float:
    """Return how many things of ``count`` a call of ``work`` does a second of processor time, in the best round."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return count / best


def layout_figures(layout: Layout, count: int, array: int) -> list[Figure]:
    """Return the figures of one layout: scalars and arrays, both ways."""
    chooser = random.Random(5)  # noqa: S311
    numbers = [chooser.getrandbits(layout.bits) for _ in range(count)]
    pack, unpack = layout.pack, layout.unpack
    fields = [unpack(number) for number in numbers]
    wide = np.random.default_rng(5).integers(0, layout.largest, array, dtype=np.int64, endpoint=True)
    apart = arrays.decode(wide, layout)

    def pack_all() -> None:
        for high, middle, low in fields:
            pack(high, middle, low)

    def unpack_all() -> None:
        for number in numbers:
            unpack(number)

    return [
        Figure("`unpack`", layout.name, measure(unpack_all, count)),
        Figure("`pack`", layout.name, measure(pack_all, count)),
        Figure("`arrays.decode`", layout.name, measure(lambda: arrays.decode(wide, layout), array)),
        Figure("`arrays.encode`", layout.name, measure(lambda: arrays.encode(apart, layout), array)),
    ]


def other_figures(count: int) -> list[Figure]:
    """Return the figures of the functions that give names, times or text."""
    chooser = random.Random(5)  # noqa: S311
    numbers = [chooser.getrandbits(63) for _ in range(count)]
    named = [SHARDFLAKE.decode(number) for number in numbers]
    wide = [chooser.getrandbits(128) for _ in range(count)]
    texts = [ulid.render(number) for number in wide]
    sevens = [str(uuids.make_v7(number >> 80, number & 0xFFF, number >> 14 & (1 << 62) - 1)) for number in wide]
    generate = ulid.UlidGenerator()

    def figure(work: str, kind: str, function: Callable[[int], object]) -> Figure:
        def repeat() -> None:
            for index in range(count):
                function(index)

        return Figure(work, kind, measure(repeat, count))

    return [
        figure("`Layout.decode`, by names", "shardflake", lambda index: SHARDFLAKE.decode(numbers[index])),
        figure("`Layout.encode`, by names", "shardflake", lambda index: SHARDFLAKE.encode(**named[index])),
        figure("`ids.decode`, with a datetime", "shardflake", lambda index: ids.decode(numbers[index])),
        figure("`ulid.parse`", "ulid", lambda index: ulid.parse(texts[index])),
        figure("`ulid.render`", "ulid", lambda index: ulid.render(wide[index])),
        figure("`ulid.UlidGenerator`", "ulid", lambda index: generate()),
        figure("`uuids.decode_v7`", "uuidv7", lambda index: uuids.decode_v7(sevens[index])),
    ]


def table(figures: list[Figure]) -> str:
    """Return figures as a Markdown table, with what they were measured on."""
    lines = ["| what | kind | millions a second |", "|---|---|---:|"]
    for figure in figures:
        millions = figure.per_second / 1e6
        lines.append(
            f"| {figure.work} | {figure.kind} | {millions:.0f} |"
            if millions > 20
            else f"| {figure.work} | {figure.kind} | {millions:.2f} |"
        )
    machine = f"Python {platform.python_version()}, NumPy {np.__version__}, {_processor()}, {datetime.now(UTC):%Y-%m-%d}"
    return "\n".join([*lines, "", f"Measured on one core by `python -m shardflake.bench.codecs`: {machine}.", ""])


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return f"{found[1] if found else platform.machine()} ({os.cpu_count()} cores)"


def main(arguments: list[str] | None = None) -> int:
    """Measure, print and, if asked, write into a page; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m shardflake.bench.codecs", description="Measure the codecs on one core.")
    parser.add_argument("--page", type=Path, help="a Markdown page with the marks <!-- codecs --> and <!-- /codecs -->")
    parser.add_argument("--scalars", type=int, default=SCALARS, help="ids a round, one by one")
    parser.add_argument("--array", type=int, default=ARRAY, help="ids a round, in arrays")
    options = parser.parse_args(arguments)
    figures = [figure for layout in PRESETS.values() for figure in layout_figures(layout, options.scalars, options.array)]
    text = table(figures + other_figures(options.scalars))
    sys.stdout.write(text)
    if options.page is not None:
        page = options.page.read_text()
        if not _MARKS.search(page):
            parser.error(f"{options.page} has no marks <!-- codecs --> and <!-- /codecs -->")
        options.page.write_text(_MARKS.sub(lambda _: text, page))
    return 0


if __name__ == "__main__":
    sys.exit(main())
