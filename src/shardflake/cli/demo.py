"""The command ``shardflake demo``."""

from __future__ import annotations

from typing import Annotated

import typer


def demo(
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the server running until Ctrl-C, and say how to connect.")
    ] = False,
    rows: Annotated[int, typer.Option(min=8000, help="Rows in each table whose index is measured; all else scales.")] = 200_000,
) -> None:
    """Show on a throw-away server how a store split over four databases gets its ids.

    Needs nothing but the package's embedded PostgreSQL. Exits 0 if the ids of shardflake had no duplicate and those of
    Instagram's published function had some, 1 otherwise.
    """
    # imported here: other commands must start without SQLAlchemy
    from rich.console import Console

    from shardflake.demo import run
    from shardflake.demo.report import WIDTH
    from shardflake.demo.steps import Size

    out = Console(highlight=False)
    out.width = min(out.width, WIDTH) if out.is_terminal else WIDTH
    try:
        passed = run(out, Console(stderr=True), Size.of(rows), keep=keep)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    raise typer.Exit(0 if passed else 1)
