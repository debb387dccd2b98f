"""``shardflake id odds``: what chance gives at a rate, and what a division of bits gives."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich import box
from rich.measure import Measurement
from rich.table import Table

from shardflake.cli.input import EpochOption, TickOption, kind_of
from shardflake.cli.output import Format, FormatOption, print_json, stdout
from shardflake.errors import InvalidIdError
from shardflake.kinds import KINDS
from shardflake.layout import PRESETS, Layout
from shardflake.odds import RANDOM_KINDS, YEAR_SECONDS, RandomKind, expected_collisions, in_words, probability


def odds(
    layout: Annotated[
        list[str] | None,
        typer.Option("--layout", metavar="NAME", help="Show only this kind, or widths such as 41/10/12; may be repeated."),
    ] = None,
    rate: Annotated[int, typer.Option(metavar="N", help="Ids a second, of all makers together.")] = 1_000_000,
    seconds: Annotated[int, typer.Option(metavar="N", help="For how long, in seconds; a year without.")] = YEAR_SECONDS,
    bits: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=128, help="Add a kind of one's own: so many random bits.")
    ] = None,
    random_tick: Annotated[
        int | None,
        typer.Option(metavar="MS", min=1, help="With --bits: milliseconds that ids share a prefix of time; none without."),
    ] = None,
    epoch: EpochOption = None,
    tick: TickOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Print the odds that random ids collide, and lifetime and throughput of layouts."""
    if random_tick is not None and bits is None:
        raise InvalidIdError("--random-tick needs --bits")
    names = layout or ([] if bits else list(KINDS))
    own = [RandomKind("own", bits, random_tick, "as given")] if bits else []
    random = [kind for kind in RANDOM_KINDS if kind.name in names] + own
    random_names = {kind.name for kind in RANDOM_KINDS}
    layouts = [_layout(name, epoch, tick) for name in names if name not in random_names]
    chances = [_chance(kind, rate, seconds) for kind in random]
    if format_ is Format.JSON:
        for row in [*chances, *map(_capacity, layouts)]:
            print_json(row)
        return
    if chances:
        _print_chances(chances, rate, seconds)
    if chances and layouts:
        stdout().print()
    if layouts:
        _print_layouts(layouts)


def _layout(name: str, epoch: str | None, tick: int | None) -> Layout:
    found = PRESETS.get(name) if name in PRESETS else kind_of(name, epoch, tick).layout
    if found is None:
        raise InvalidIdError(f"{name!r} is no layout of 64 bits")
    return found


def _chance(kind: RandomKind, rate: int, seconds: int) -> dict[str, Any]:
    expected = expected_collisions(kind, rate, seconds)
    return {
        "kind": kind.name,
        "random_bits": kind.random_bits,
        "tick_ms": kind.tick_ms,
        "ids": str(rate * seconds),
        "expected_collisions": float(expected),
        "probability": probability(expected),
        "in_words": in_words(probability(expected)),
    }


def _capacity(layout: Layout) -> dict[str, Any]:
    return {
        "kind": layout.name,
        "widths": widths(layout),
        "bits": layout.bits,
        "tick_ms": layout.tick_ms,
        "first": f"{layout.first_time:%Y-%m-%d}",
        "last": f"{layout.last_time:%Y-%m-%d}",
        "years": round(layout.years, 2),
        "years_left": round(layout.years_left(datetime.now(UTC)), 2),
        "shards": layout.shards,
        "ids_per_second_per_shard": layout.ids_per_second,
    }


def widths(layout: Layout) -> str:
    """Return a layout's fields in words, such as ``time 40, shard 13, counter 10``."""
    return ", ".join(f"{field.name} {field.bits}" for field in layout.fields)


def _print_chances(chances: list[dict[str, Any]], rate: int, seconds: int) -> None:
    console = stdout()
    span = "a year" if seconds == YEAR_SECONDS else f"{seconds:,} s"
    console.print(f"Random ids, {rate:,} a second for {span}: the odds that two are equal")
    table = Table(box=box.ROUNDED)
    for name, justify in (("kind", "left"), ("random bits", "right"), ("that must differ", "left"), ("odds", "right")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for row in chances:
        among = "among all ids" if row["tick_ms"] is None else f"within {row['tick_ms']} ms"
        table.add_row(row["kind"], str(row["random_bits"]), among, row["in_words"])
    console.print(table)


def _print_layouts(layouts: list[Layout]) -> None:
    console = stdout()
    console.print("Layouts: no odds, for each shard counts; what they hold")
    table = _table_of(layouts, narrow=False)
    if Measurement.get(console, console.options.update(max_width=1000), table).maximum > console.width:
        table = _table_of(layouts, narrow=True)
    console.print(table)


def _table_of(layouts: list[Layout], *, narrow: bool) -> Table:
    """Return the table of layouts, 92 columns wide for ours; the narrow one has 80, without the years."""
    table = Table(box=box.ROUNDED)
    table.add_column("layout", no_wrap=True)
    table.add_column("fields, bits")
    table.add_column("until", no_wrap=True)
    if not narrow:
        table.add_column("years", justify="right")
    table.add_column("shards", justify="right")
    table.add_column("ids/s" if narrow else "ids/s a shard", justify="right")
    for layout in layouts:
        years = [] if narrow else [f"{layout.years:.1f}"]
        speed = f"{layout.ids_per_second:,.0f}"
        table.add_row(layout.name, widths(layout), f"{layout.last_time:%Y-%m-%d}", *years, f"{layout.shards:,}", speed)
    return table
