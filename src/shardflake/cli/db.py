"""``shardflake db``: install, check and operate the generator in one database.

Everything that imports SQLAlchemy is imported inside the commands: the rest of the command line starts without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shardflake import assets
from shardflake.cli.drawing import age
from shardflake.cli.output import Format, FormatOption, iso, print_json, stderr, stdout, utc
from shardflake.errors import InstallationError, InvalidIdError
from shardflake.layout import PRESETS, SHARDFLAKE

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from shardflake.install import Status

app = typer.Typer(help="Install, check and operate the generator in one database.", no_args_is_help=True)

UrlOption = Annotated[
    str,
    typer.Option(
        "--url",
        metavar="URL",
        envvar="SHARDFLAKE_URL",
        show_default=False,
        help="Database: a SQLAlchemy or libpq URL, or a libpq string; without it, libpq's PG* environment.",
    ),
]
ShardIdOption = Annotated[int | None, typer.Option("--shard-id", metavar="N", help="0 to 8191, different on every shard.")]
LayoutOption = Annotated[
    str | None, typer.Option("--layout", metavar="NAME", help=f"Layout of the ids, for ever: {', '.join(PRESETS)}.")
]

_REMEDIES = {
    "not assigned": "next_id() refuses until the database has a shard id; run: shardflake db assign --shard-id N",
    "copied or altered": "next_id() refuses in a copy. As a shard of its own: shardflake db assign --shard-id N --replace; "
    "as the only one of its shard: shardflake db confirm",
    "another cluster": "next_id() refuses in a restored copy. If no other database issues ids of its shard, run: "
    "shardflake db confirm",
}
"""What to do, by what ``status()`` says of the identity."""

_MAX_LEAD_SECONDS = 86400

_DIFF_STYLES = {"---": "bold", "+++": "bold", "@@ ": "cyan", "-": "red", "+": "green"}


@app.command()
def upgrade(
    url: UrlOption = "",
    shard_id: ShardIdOption = None,
    revision: Annotated[str, typer.Option(metavar="REV", help="Alembic revision to stop at.")] = "head",
    layout: LayoutOption = None,
) -> None:
    """Install the generator or bring it up to date, and give the database its shard id."""
    engine = _engine(url)
    from shardflake import install

    if layout is not None and shard_id is None:
        raise InvalidIdError(f"layout {layout} without a shard id: give --shard-id as well")
    reached = install.upgrade(engine, shard_id, revision, layout=layout)
    typer.echo(f"at revision {reached}" + (f", shard {shard_id}" if shard_id is not None else ""))


@app.command()
def downgrade(
    url: UrlOption = "",
    revision: Annotated[str, typer.Option(metavar="REV", help="Alembic revision to go back to.")] = "base",
) -> None:
    """Remove the generator; refused, listing the columns, while a column default uses it."""
    engine = _engine(url)
    from shardflake import install

    install.downgrade(engine, revision)
    typer.echo("removed" if revision == "base" else f"at revision {revision}")


@app.command()
def status(url: UrlOption = "", format_: FormatOption = Format.TABLE) -> None:
    """Show the shard's identity, clock and high-water mark; exit 1 if it would refuse to issue ids."""
    engine = _engine(url)
    from shardflake import install

    state = install.status(engine)
    if format_ is Format.JSON:
        print_json(status_json(state))
    else:
        _print_table(_status_rows(state))
    if state.identity in _REMEDIES:
        stderr().print(_REMEDIES[state.identity])
        raise typer.Exit(1)


@app.command()
def check(url: UrlOption = "") -> None:
    """Compare the database with the release; exit 1 with a unified diff if anything was changed by hand."""
    engine = _engine(url)
    from shardflake import install

    difference = install.check(engine)
    if not difference:
        typer.echo(f"no drift from revision {install.head()}")
        return
    print_diff(difference)
    raise typer.Exit(1)


@app.command()
def sql(
    shard_id: ShardIdOption = None,
    revision: Annotated[str, typer.Option(metavar="REV", help="Alembic revision to stop at.")] = "head",
) -> None:
    """Print the SQL that upgrade would run on an empty database; needs no server."""
    require_driver()
    from shardflake import install

    typer.echo(install.offline_script(revision, shard_id), nl=False)


@app.command()
def path() -> None:
    """Print the directory of the SQL files, to run psql -f install.sql in; needs no server."""
    typer.echo(assets.sql_dir())


@app.command()
def assign(
    shard_id: Annotated[int, typer.Option("--shard-id", metavar="N", help="0 to 8191, different on every shard.")],
    url: UrlOption = "",
    logical_shards: Annotated[
        str | None, typer.Option(metavar="N,N...", help="Further shard ids that this database may issue.")
    ] = None,
    max_lead: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="How far ids may run ahead of a clock that was set back; 0 refuses at once."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Give a copy of another shard an id of its own.")] = False,
    layout: LayoutOption = None,
) -> None:
    """Give the database its shard id, once; run again with the same id to change the options."""
    engine = _engine(url)
    from shardflake import install

    shards = _shard_ids(logical_shards, layout) if logical_shards is not None else None
    if max_lead is not None and not 0 <= max_lead <= _MAX_LEAD_SECONDS:
        raise InvalidIdError(f"max lead {max_lead:g} s is not between 0 and {_MAX_LEAD_SECONDS} s")
    lead = timedelta(seconds=max_lead) if max_lead is not None else None
    install.assign(engine, shard_id, logical_shards=shards, max_lead=lead, replace=replace, layout=layout)
    state = install.status(engine)
    typer.echo(
        f"shard {shard_id}; issues ids of shards {_ranges(state.logical_shards)}, "
        f"at most {_milliseconds(state.max_lead)} ms ahead of a clock that was set back"
    )


@app.command()
def confirm(url: UrlOption = "") -> None:
    """Declare a restored, upgraded or altered database the only one of its shard, and let it issue ids again."""
    engine = _engine(url)
    from shardflake import install

    done = install.confirm(engine)
    columns = f"{done.columns_checked} column" + ("s" if done.columns_checked != 1 else "")
    largest = f"the largest id is {done.largest_id}" if done.largest_id is not None else "they hold no id"
    typer.echo(f"confirmed: {columns} checked, {largest}; the next id lies after {utc(done.high_water)}")


@app.command("set-default", no_args_is_help=True)
def set_default(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="As SQL names it, with its schema if need be.")],
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="Its name without quotes.")],
    url: UrlOption = "",
    shard: Annotated[int | None, typer.Option(metavar="N", help="A logical shard that this database may issue.")] = None,
) -> None:
    """Make next_id() the default of a bigint column, live; prints what became of the old default."""
    engine = _engine(url)
    from shardflake import install

    for notice in install.set_default(engine, table, column, shard):
        typer.echo(notice)
    typer.echo(f"the default of {table}.{column} is shardflake.next_id({shard if shard is not None else ''})")


@app.command(no_args_is_help=True)
def grant(role: Annotated[str, typer.Argument(metavar="ROLE", help="Its name without quotes.")], url: UrlOption = "") -> None:
    """Let a role insert into tables whose ids come from the generator."""
    engine = _engine(url)
    from shardflake import install

    install.grant(engine, role)
    typer.echo(f"{role} may draw ids")


def _engine(url: str) -> Engine:
    require_driver()
    from shardflake.connect import make_engine

    return make_engine(url)


def require_driver() -> None:
    """Say what to install where psycopg finds no libpq, rather than show its traceback."""
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise InstallationError(
            f"psycopg cannot be loaded ({str(error).splitlines()[0]}); install libpq, or run: pip install 'shardflake[binary]'"
        ) from error


def _shard_ids(text: str, layout: str | None) -> list[int]:
    """Parse shard ids that commas separate.

    :raises InvalidIdError: for one that the layout cannot hold.
    """
    from shardflake import install

    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise InvalidIdError(f"{text!r} is not a list of shard ids; give numbers such as 6,7") from None
    for number in numbers:
        install.check_shard_id(number, layout)
    return numbers


def _ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers in short, such as 5, 7-9."""
    runs = (list(run) for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]))
    return ", ".join(str(run[0][1]) if len(run) == 1 else f"{run[0][1]}-{run[-1][1]}" for run in runs)


def print_diff(difference: str) -> None:
    """Print a unified diff, in colours on a terminal."""
    console = stdout()
    for line in difference.splitlines():
        style = next((style for start, style in _DIFF_STYLES.items() if line.startswith(start)), None)
        console.print(line, style=style)


def status_json(state: Status) -> dict[str, Any]:
    """Return a status for programs."""
    return {
        "revision": state.revision,
        "shard_id": state.shard_id,
        "logical_shards": state.logical_shards,
        "backfill_shards": state.backfill_shards,
        "layout": state.layout,
        "identity": state.identity,
        "clock": iso(state.clock),
        "high_water": iso(state.high_water),
        "lead_ms": _milliseconds(state.lead) if state.lead is not None else None,
        "max_lead_ms": _milliseconds(state.max_lead),
        "ids_per_ms_peak": state.ids_per_ms_peak,
        "ids_per_ms_limit": state.ids_per_ms_limit,
        "years_left": state.years_left,
    }


def _status_rows(state: Status) -> list[tuple[str, str]]:
    lead = f"{_milliseconds(state.lead)} ms" if state.lead is not None else "unknown"
    peak = str(state.ids_per_ms_peak or 0) if state.identity != "standby" else "unknown"
    unused = state.high_water == SHARDFLAKE.first_time
    mark = "none: no id was issued yet" if unused else f"{utc(state.high_water)} ({age(state.clock - state.high_water)})"
    return [
        ("shard id", str(state.shard_id) if state.shard_id is not None else "none"),
        ("issues shards", _ranges(state.logical_shards) or "none"),
        *([("imports into", _ranges(state.backfill_shards))] if state.backfill_shards else []),
        ("identity", state.identity),
        ("revision", state.revision or "unknown"),
        ("layout", state.layout),
        ("clock", utc(state.clock)),
        ("high-water mark", mark),
        ("ahead of clock", f"{lead} (at most {_milliseconds(state.max_lead)} ms after the clock is set back)"),
        ("peak rate", f"{peak} ids/ms, of {state.ids_per_ms_limit} possible"),
        ("time left", f"{state.years_left} years"),
    ]


def _milliseconds(duration: timedelta) -> int:
    return duration // timedelta(milliseconds=1)


def _print_table(rows: Sequence[tuple[str, str]]) -> None:
    """Print names and values, no wider than the terminal or 100 columns."""
    from rich import box
    from rich.table import Table

    console = stdout()
    table = Table(box=box.ROUNDED, show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(table, soft_wrap=False, width=min(console.width, 100))
