"""What the commands for ids take in: ids from arguments or stdin, layouts, times."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import TextIOWrapper
from typing import Annotated

import typer

from shardflake.errors import InvalidIdError
from shardflake.kinds import KINDS, Kind, of_layout
from shardflake.layout import SHARDFLAKE, custom
from shardflake.texts import TextForm

LayoutOption = Annotated[
    str | None,
    typer.Option(
        "--layout", metavar="NAME", help=f"{', '.join(KINDS)}, or widths such as 41/10/12 or time:39/counter:8/shard:16."
    ),
]
EpochOption = Annotated[
    str | None,
    typer.Option("--epoch", metavar="ISO", help="Where the time starts, for --layout with widths; 2025-01-01 without."),
]
TickOption = Annotated[
    int | None, typer.Option("--tick", metavar="MS", help="What a tick lasts, for --layout with widths; 1 without.")
]
FromOption = Annotated[
    TextForm | None,
    typer.Option("--from", help="What form the ids are written in; guessed from their shape without, but for base32."),
]
IdsArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="ID", help="Ids in decimal, 0x hexadecimal, ULID or UUID; from stdin without.", show_default=False),
]


def kind_of(layout: str, epoch: str | None, tick: int | None) -> Kind:
    """Return the kind that ``--layout``, ``--epoch`` and ``--tick`` name.

    :raises InvalidIdError: for an unknown name, widths that cannot be, or an epoch or tick with a name.
    """
    if layout in KINDS:
        if epoch is not None or tick is not None:
            raise InvalidIdError(
                f"layout {layout} has an epoch and a tick of its own; give --epoch and --tick with widths, such as 41/10/12"
            )
        return KINDS[layout]
    if "/" not in layout:
        raise InvalidIdError(f"{layout!r} is no layout; there are {', '.join(KINDS)}, and widths such as 41/10/12")
    epoch_ms = (
        SHARDFLAKE.epoch_ms
        if epoch is None
        else (parse_time(epoch) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    )
    return of_layout(custom(layout, epoch_ms=epoch_ms, tick_ms=1 if tick is None else tick, now=datetime.now(UTC)))


def read_ids(arguments: list[str] | None) -> Iterator[tuple[str, str]]:
    """Give ids with a prefix for messages about them: the arguments, or the words on stdin, a line at a time.

    :raises typer.BadParameter: if there are no arguments and stdin is a terminal, or for an unknown option.
    """
    if arguments:
        for text in arguments:
            # Unknown options are let through so that a negative number is met by our message and not by "no such option".
            if text.startswith("-") and not text[1:].isdigit():
                raise typer.BadParameter(f"{text!a} is neither an id nor an option of this command")
            yield text, ""
    elif sys.stdin.isatty():
        raise typer.BadParameter("give ids, as arguments or on stdin")
    else:
        if isinstance(sys.stdin, TextIOWrapper):
            sys.stdin.reconfigure(errors="backslashreplace")  # bytes that are no text are met by our message
        for number, line in enumerate(sys.stdin, 1):
            for text in line.split():
                yield text, f"line {number}: "


def parse_time(text: str) -> datetime:
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
