"""Measure how fast ids are encoded and decoded in Python, on one core: ``python -m shardflake.bench.codecs``.

Prints Markdown tables, which ``--page docs/formats.md`` also puts between the marks ``<!-- codecs -->`` of a page. Times are
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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from shardflake import arrays, ids, ulid, uuids
from shardflake.bench.marks import put_between
from shardflake.layout import PRESETS, Layout

ROUNDS = 7
SCALARS = 100_000
ARRAY = 4_000_000


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: what was done, for which kind, and how many a second."""

    work: str
    kind: str
    per_second: float

    def __str__(self) -> str:
        """Return the figure in millions a second."""
        millions = self.per_second / 1e6
        return f"{millions:.0f}" if millions > 20 else f"{millions:.2f}"


def measure(work: Callable[[], object], count: int) -> float:
    """Return how many things of ``count`` a call of ``work`` does a second of processor time, in the best round."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return count / best


def layout_figures(layout: Layout, count: int, array: int) -> list[Figure]:
    """Return the figures of one layout: by name, in order and in arrays, both ways."""
    chooser = random.Random(5)  # noqa: S311
    numbers = [chooser.getrandbits(layout.bits) for _ in range(count)]
    named = [(fields["time"], fields["shard"], fields["counter"]) for fields in map(layout.decode, numbers)]
    ordered = [layout.unpack(number) for number in numbers]
    wide = np.random.default_rng(5).integers(0, layout.largest, array, dtype=np.int64, endpoint=True)
    apart = arrays.decode(wide, layout)
    decode, encode, pack, unpack = layout.decode, layout.encode, layout.pack, layout.unpack

    def decode_all() -> None:
        for number in numbers:
            decode(number)

    def encode_all() -> None:
        for tick, shard, counter in named:
            encode(time=tick, shard=shard, counter=counter)

    def unpack_all() -> None:
        for number in numbers:
            unpack(number)

    def pack_all() -> None:
        for high, middle, low in ordered:
            pack(high, middle, low)

    return [
        Figure("`decode`", layout.name, measure(decode_all, count)),
        Figure("`encode`", layout.name, measure(encode_all, count)),
        Figure("`unpack`", layout.name, measure(unpack_all, count)),
        Figure("`pack`", layout.name, measure(pack_all, count)),
        Figure("`arrays.decode`", layout.name, measure(lambda: arrays.decode(wide, layout), array)),
        Figure("`arrays.encode`", layout.name, measure(lambda: arrays.encode(apart, layout), array)),
    ]


def other_figures(count: int) -> list[Figure]:
    """Return the figures of the functions that give times or text."""
    chooser = random.Random(5)  # noqa: S311
    numbers = [chooser.getrandbits(63) for _ in range(count)]
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
        figure("`ids.decode`, with a datetime", "shardflake", lambda index: ids.decode(numbers[index])),
        figure("`ulid.parse`", "ulid", lambda index: ulid.parse(texts[index])),
        figure("`ulid.render`", "ulid", lambda index: ulid.render(wide[index])),
        figure("`ulid.UlidGenerator`", "ulid", lambda index: generate()),
        figure("`uuids.decode_v7`", "uuidv7", lambda index: uuids.decode_v7(sevens[index])),
    ]


def tables(layouts: Sequence[Sequence[Figure]], others: Sequence[Figure]) -> str:
    """Return figures as two Markdown tables, with what they were measured on.

    :param layouts: the figures of each layout, all for the same works in the same order.
    :param others: the rest.
    """
    columns = [figure.work for figure in layouts[0]]
    lines = [_row("layout, millions a second", *columns), _row("---", *("---:" for _ in columns))]
    lines += [_row(f"`{row[0].kind}`", *map(str, row)) for row in layouts]
    lines += ["", _row("others, millions a second", "kind", ""), _row("---", "---", "---:")]
    lines += [_row(figure.work, figure.kind, str(figure)) for figure in others]
    machine = f"Python {platform.python_version()}, NumPy {np.__version__}, {_processor()}, {datetime.now(UTC):%Y-%m-%d}"
    return "\n".join([*lines, "", f"Measured on one core by `python -m shardflake.bench.codecs`: {machine}.", ""])


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


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
    layouts = [layout_figures(layout, options.scalars, options.array) for layout in PRESETS.values()]
    text = tables(layouts, other_figures(options.scalars))
    sys.stdout.write(text)
    if options.page is not None:
        try:
            put_between(options.page, "codecs", text)
        except ValueError as error:
            parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
