"""Writes the computed tables of docs/formats.md: ``python -m tests.docs.formats``."""

from __future__ import annotations

import re
from pathlib import Path

from shardflake.layout import PRESETS
from shardflake.odds import RANDOM_KINDS, YEAR_SECONDS, expected_collisions, in_words, probability

PAGE = Path(__file__).parents[2] / "docs" / "formats.md"
RATE = 1_000_000


def capacity() -> str:
    """Return the table of the layouts."""
    lines = [
        "| layout | fields, bits | bits | epoch | tick | until | years | shards | ids/ms a shard |",
        "|---|---|---:|---|---:|---|---:|---:|---:|",
    ]
    for layout in PRESETS.values():
        fields = ", ".join(f"{field.name} {field.bits}" for field in layout.fields)
        epoch = f"{layout.first_time:%Y-%m-%d} ({layout.epoch_ms})"
        lines.append(
            f"| `{layout.name}` | {fields} | {layout.bits} | {epoch} | {layout.tick_ms} ms "
            f"| {layout.last_time:%Y-%m-%d} | {layout.years:.1f} | {layout.shards:,} | {layout.ids_per_second / 1000:,.10g} |"
        )
    return "\n".join(lines) + "\n"


def odds() -> str:
    """Return the table of the random kinds, for a year."""
    lines = [
        f"| {RATE:,} ids a second for a year | random bits | which | must differ | odds that two are equal |",
        "|---|---:|---|---|---:|",
    ]
    for kind in RANDOM_KINDS:
        among = "among all" if kind.tick_ms is None else f"within {kind.tick_ms} ms"
        chance = in_words(probability(expected_collisions(kind, RATE, YEAR_SECONDS)))
        lines.append(f"| {kind.name} | {kind.random_bits} | {kind.note} | {among} | {chance} |")
    return "\n".join(lines) + "\n"


def with_tables(text: str) -> str:
    """Return the page with its tables as they are computed now."""
    for mark, table in (("capacity", capacity()), ("odds", odds())):
        text, count = re.subn(rf"(<!-- {mark} -->\n).*?(<!-- /{mark} -->)", rf"\g<1>{table}\g<2>", text, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"{PAGE.name} has the marks <!-- {mark} --> {count} times, not once")
    return text


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text()))
