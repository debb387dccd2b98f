"""``shardflake id``: read, make and bound ids, without a server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.text import Text

from shardflake.cli.drawing import age, draw
from shardflake.cli.output import Format, FormatOption, iso, print_json, stdout
from shardflake.errors import InvalidIdError
from shardflake.ids import decode, make_id, parse_id, time_range

app = typer.Typer(help="Read, make and bound ids; needs no server.", no_args_is_help=True)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


# Unknown options are let through so that a negative number is met by our message and not by "no such option".
@app.command(context_settings={"ignore_unknown_options": True}, no_args_is_help=True)
def explain(
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="Ids in decimal digits.", show_default=False)],
    format_: FormatOption = Format.TABLE,
) -> None:
    """Take ids apart: the bits drawn to scale, time in UTC, shard, counter and age."""
    values = [_id(text) for text in ids]
    now = datetime.now(UTC)
    for number, value in enumerate(values):
        if format_ is Format.JSON:
            _explain_json(value, now)
        else:
            _explain_drawing(value, now, first=number == 0)


@app.command()
def make(
    time: Annotated[str, typer.Option(metavar="ISO", help="ISO 8601 with a zone, such as 2026-07-06T08:30:00Z.")],
    shard: Annotated[int, typer.Option(metavar="N", help="Shard id, 0 to 8191.")],
    counter: Annotated[int, typer.Option(metavar="N", help="Counter within the millisecond, 0 to 1023.")] = 0,
) -> None:
    """Print the id with these parts; for tests and bounds, never to stand in for the generator."""
    typer.echo(make_id(_time(time), shard, counter))


@app.command("range", no_args_is_help=True)
def range_(
    start: Annotated[str, typer.Argument(metavar="FROM", help="ISO 8601 with a zone; inclusive.", show_default=False)],
    end: Annotated[str, typer.Argument(metavar="TO", help="ISO 8601 with a zone; exclusive.", show_default=False)],
    format_: FormatOption = Format.TABLE,
) -> None:
    """Print the ids that bound a time range, of all shards, and the SQL condition for it."""
    low, high = time_range(_time(start), _time(end))
    condition = f"id >= {low} AND id < {high}"
    if format_ is Format.JSON:
        print_json({"low": str(low), "high": str(high), "condition": condition})
    else:
        typer.echo(f"low   {low}\nhigh  {high}\nSQL   {condition}")


def _explain_json(value: int, now: datetime) -> None:
    """Print an id's parts; the id as a string, for a JSON number of 64 bits loses its last digits in JavaScript."""
    parts = decode(value)
    print_json(
        {
            "id": str(value),
            "time": iso(parts.time),
            "unix_ms": (parts.time - _EPOCH) // timedelta(milliseconds=1),
            "shard": parts.shard,
            "counter": parts.counter,
            "age_ms": (now - parts.time) // timedelta(milliseconds=1),
        }
    )


def _explain_drawing(value: int, now: datetime, *, first: bool) -> None:
    console = stdout()
    if not first:
        console.print()
    console.print(Text.assemble((str(value), "bold"), f"  {age(now - decode(value).time)}"))
    console.print(draw(value))


def _id(text: str) -> int:
    """Parse an id, and refuse an option that the parser let through."""
    if text.startswith("-") and not text[1:].isdigit():
        raise typer.BadParameter(f"{text} is neither an id nor an option of this command")
    return parse_id(text)


def _time(text: str) -> datetime:
    """Parse a time that says its zone.

    :raises InvalidIdError: if it is none, or naive.
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidIdError(f"{text!r} is not an ISO 8601 time; give one such as 2026-07-06T08:30:00Z") from None
    if time.tzinfo is None:
        raise InvalidIdError(f"{text!r} has no time zone; add Z for UTC, or an offset such as +02:00")
    return time
