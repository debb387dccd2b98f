"""The table of options in docs/cli.md: ``python -m tests.docs.options`` writes it as the commands have it now."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from shardflake.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def commands() -> Iterator[tuple[str, Any]]:
    """Give every command of the application with its words, such as "db upgrade"."""
    root: Any = typer.main.get_command(app)
    for name, command in root.commands.items():
        below = getattr(command, "commands", None)
        if below is None:
            yield name, command
        else:
            yield from ((f"{name} {part}", item) for part, item in below.items())


def table() -> str:
    """Return a row for each argument and option of each command."""
    lines = ["| command | argument or option | what it is |", "|---|---|---|"]
    for words, command in commands():
        for parameter in command.params:
            lines.append(f"| `{words}` | `{_spelling(parameter)}` | {parameter.help.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


def _spelling(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper())
    names = "` `".join([*parameter.opts, *parameter.secondary_opts])
    return f"{names} {parameter.metavar}" if parameter.metavar else names


def with_options(text: str) -> str:
    """Return the page with its table of options as it is now."""
    text, count = re.subn(
        r"(<!-- options -->\n).*?(<!-- /options -->)", lambda found: found[1] + table() + found[2], text, flags=re.DOTALL
    )
    if count != 1:
        raise ValueError(f"{PAGE.name} has the marks <!-- options --> {count} times, not once")
    return text


if __name__ == "__main__":
    PAGE.write_text(with_options(PAGE.read_text()))
