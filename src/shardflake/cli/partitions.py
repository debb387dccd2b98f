"""``shardflake partitions``: make, list and detach partitions by time; shells over :mod:`shardflake.partitions`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated

import typer

from shardflake.cli.db import UrlOption, _engine
from shardflake.cli.output import Format, FormatOption, iso, print_json, utc

app = typer.Typer(help="Partitions by time of tables that are PARTITION BY RANGE (id).", no_args_is_help=True)

TableArgument = Annotated[str, typer.Argument(metavar="TABLE", help="As SQL names it, with its schema if need be.")]


class Unit(StrEnum):
    """How long a partition lasts."""

    DAY = "day"
    MONTH = "month"


@app.command(no_args_is_help=True)
def create(
    table: TableArgument,
    unit: Annotated[Unit, typer.Option("--by", help="What a partition holds, UTC.")],
    ahead: Annotated[int, typer.Option(metavar="N", min=0, max=1000, help="How many after the present one.")] = 3,
    url: UrlOption = "",
) -> None:
    """Create the partitions that are missing, from the present one on; safe to run again. Prints those that are new."""
    engine = _engine(url)
    from shardflake import partitions

    for name in partitions.create(engine, table, unit.value, ahead=ahead):
        typer.echo(name)


@app.command("list", no_args_is_help=True)
def list_(table: TableArgument, url: UrlOption = "", format_: FormatOption = Format.TABLE) -> None:
    """List the partitions, oldest first, with the times of their ids."""
    engine = _engine(url)
    from shardflake import partitions

    for part in partitions.partitions(engine, table):
        if format_ is Format.JSON:
            times = {"start": iso(part.start) if part.start else None, "end": iso(part.end) if part.end else None}
            print_json({"name": part.name, **times, "detaching": part.detaching})
        else:
            start, end = (utc(time)[:16] if time else "open" for time in (part.start, part.end))
            typer.echo(f"{part.name}  {start} to before {end}" + ("  detach was cut off" if part.detaching else ""))


@app.command(no_args_is_help=True)
def detach(
    table: TableArgument,
    keep_days: Annotated[int, typer.Option(metavar="N", min=1, help="Keep partitions with ids of the last N days.")],
    drop: Annotated[bool, typer.Option("--drop", help="Drop them once they are detached: their rows are gone.")] = False,
    url: UrlOption = "",
) -> None:
    """Detach old partitions, one at a time, while reads and writes go on. Prints their names."""
    engine = _engine(url)
    from shardflake import partitions

    for name in partitions.detach(engine, table, datetime.now(UTC) - timedelta(days=keep_days), drop=drop):
        typer.echo(f"{name} {'dropped' if drop else 'detached'}")
