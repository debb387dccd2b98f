"""``shardflake id``: read, make, convert and bound ids, without a server."""

from __future__ import annotations

import secrets
from typing import Annotated

import typer

from shardflake.cli.convert import convert
from shardflake.cli.explain import explain
from shardflake.cli.input import EpochOption, TickOption, kind_of, parse_time
from shardflake.cli.odds import odds
from shardflake.cli.output import Format, FormatOption, print_json
from shardflake.errors import InvalidIdError
from shardflake.kinds import Kind
from shardflake.texts import TextForm, render

app = typer.Typer(help="Read, make, convert and bound ids; needs no server.", no_args_is_help=True)

_LET_NEGATIVE_NUMBERS_THROUGH = {"ignore_unknown_options": True}
app.command("explain", context_settings=_LET_NEGATIVE_NUMBERS_THROUGH)(explain)
app.command("convert", context_settings=_LET_NEGATIVE_NUMBERS_THROUGH)(convert)

ChosenLayout = Annotated[
    str, typer.Option("--layout", metavar="NAME", help="As explain takes it; shardflake without.", show_default=False)
]


@app.command()
def make(
    time: Annotated[str | None, typer.Option(metavar="ISO", help="ISO 8601 with a zone, such as 2026-07-06T08:30:00Z.")] = None,
    shard: Annotated[int | None, typer.Option(metavar="N", help="Shard id, 0 to 8191 in the layout shardflake.")] = None,
    counter: Annotated[int | None, typer.Option(metavar="N", help="Counter within the tick; 0 without.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=N", help="Another field, such as datacenter=1; random ones are drawn without."),
    ] = None,
    layout: ChosenLayout = "shardflake",
    epoch: EpochOption = None,
    tick: TickOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Print the id with these parts; for tests and bounds, never to stand in for the generator."""
    kind = kind_of(layout, epoch, tick)
    values = dict(map(_assignment, set_ or []))
    values |= {name: value for name, value in (("shard", shard), ("counter", counter)) if value is not None}
    if time is not None:
        values["time"] = kind.tick_of(parse_time(time))
    elif kind.has_time and "time" not in values:
        raise InvalidIdError(f"layout {kind.name} needs --time, in ISO 8601 with a zone, such as 2026-07-06T08:30:00Z")
    value = render(kind.encode(_filled(kind, values)), kind.form)
    if format_ is Format.JSON:
        print_json({"id": value, "layout": kind.name})
    else:
        typer.echo(value)


@app.command("range", no_args_is_help=True)
def range_(
    start: Annotated[str, typer.Argument(metavar="FROM", help="ISO 8601 with a zone; inclusive.", show_default=False)],
    end: Annotated[str, typer.Argument(metavar="TO", help="ISO 8601 with a zone; exclusive.", show_default=False)],
    layout: ChosenLayout = "shardflake",
    epoch: EpochOption = None,
    tick: TickOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Print the ids that bound a time range, of all shards, and the SQL condition for it."""
    kind = kind_of(layout, epoch, tick)
    low, high = (render(value, kind.form) for value in kind.time_range(parse_time(start), parse_time(end)))
    quote = "" if kind.form is TextForm.DECIMAL else "'"
    condition = f"id >= {quote}{low}{quote} AND id < {quote}{high}{quote}"
    if format_ is Format.JSON:
        print_json({"low": low, "high": high, "condition": condition})
    else:
        typer.echo(f"low   {low}\nhigh  {high}\nSQL   {condition}")


app.command("odds")(odds)


def _assignment(text: str) -> tuple[str, int]:
    """Parse ``FIELD=N``.

    :raises InvalidIdError: if it is none.
    """
    name, _, digits = text.partition("=")
    try:
        return name, int(digits, 0)
    except ValueError:
        raise InvalidIdError(f"{text!r} sets no field; write FIELD=N, such as datacenter=1") from None


def _filled(kind: Kind, values: dict[str, int]) -> dict[str, int]:
    """Return the values with those of random fields drawn and the counter 0, where they are missing."""
    filled = dict(values)
    for field in kind.fields:
        if field.name not in kind.constants and field.name.startswith("rand"):
            filled.setdefault(field.name, secrets.randbits(field.bits))
        elif field.name == "counter":
            filled.setdefault("counter", 0)
    return filled
