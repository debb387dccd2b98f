"""The command ``shardflake``: a shell over :mod:`shardflake.ids` and :mod:`shardflake.install`.

Data goes to stdout, errors and remarks to stderr. SQLAlchemy and Alembic are imported by the commands that need a server.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from shardflake import __version__
from shardflake.cli import bench, db, fleet, fleet_shards, ids, partitions  # noqa: F401
from shardflake.cli.demo import demo
from shardflake.cli.output import hide_passwords, stderr
from shardflake.errors import (
    ConnectionFailedError,
    FleetFileError,
    InvalidIdError,
    ResultsError,
    ShardflakeError,
    UnsupportedServerError,
)

_EXIT_CODES: tuple[tuple[type[ShardflakeError], int], ...] = (
    (InvalidIdError, 2),
    (ResultsError, 2),
    (FleetFileError, 2),
    (ConnectionFailedError, 3),
    (UnsupportedServerError, 4),
    (ShardflakeError, 1),
)


def exit_code(error: ShardflakeError) -> int:
    """Return the exit code that an error of ours ends the program with: 1 finding, 2 usage, 3 no connection, 4 old server."""
    return next(code for kind, code in _EXIT_CODES if isinstance(error, kind))


class _Group(TyperGroup):
    """The root group: the one place where errors become messages and exit codes."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except ShardflakeError as error:
            console = stderr()
            console.print("error: ", style="bold red", end="")
            console.print(hide_passwords(str(error)))
            raise typer.Exit(exit_code(error)) from error
        except Exception as error:
            # A usage error, of click or of typer's copy of it, quotes the words that it did not expect: maybe a URL.
            if isinstance(message := getattr(error, "message", None), str):
                error.message = hide_passwords(message)  # type: ignore[attr-defined]
            raise


app = typer.Typer(
    name="shardflake",
    cls=_Group,
    help="64-bit, time-ordered, unique ids from inside each PostgreSQL shard.",
    epilog="Exit codes: 0 fine, 1 a finding or a refusal of the server, 2 usage, 3 cannot connect, 4 unsupported server.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(db.app, name="db")
app.add_typer(fleet.app, name="fleet")
app.add_typer(ids.app, name="id")
app.add_typer(bench.app, name="bench")
app.add_typer(partitions.app, name="partitions")
app.command("demo")(demo)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"shardflake {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """64-bit, time-ordered, unique ids from inside each PostgreSQL shard."""


def main() -> None:
    """Run the command line and exit."""
    app()
