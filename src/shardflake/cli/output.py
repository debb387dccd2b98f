"""What the commands share: where they print, and how they write times."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console


class Format(StrEnum):
    """How a command prints its result."""

    TABLE = "table"
    JSON = "json"


FormatOption = Annotated[Format, typer.Option("--format", help="For people, or for programs.")]


def stdout() -> Console:
    """Return the console for data; colours only on a terminal, no text is cut or rewrapped unless asked for."""
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=True)


def stderr() -> Console:
    """Return the console for errors and remarks."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def print_json(value: dict[str, Any]) -> None:
    """Print an object on one line of its own."""
    typer.echo(json.dumps(value, ensure_ascii=False))


def iso(time: datetime) -> str:
    """Return a time for programs: UTC, to the millisecond, such as 2026-07-06T08:30:00.000Z."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def utc(time: datetime) -> str:
    """Return a time for people: UTC, to the millisecond, such as 2026-07-06 08:30:00.000 UTC."""
    return iso(time).replace("T", " ").replace("Z", " UTC")


def hide_passwords(text: str) -> str:
    """Return a message without the passwords of database URLs and libpq strings that it may quote."""
    text = re.sub(r"(\w://[^\s:/@]*):\S*@", r"\1:***@", text)
    return re.sub(r"(password\s*=\s*)('(?:[^'\\]|\\.)*'?|[^\s&]+)", r"\1***", text)
