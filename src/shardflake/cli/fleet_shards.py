"""``shardflake fleet claim`` and its like: who issues ids of which shard."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from shardflake.cli.db import require_driver
from shardflake.cli.fleet import DEFAULT_FILE, FileOption, JobsOption, TagOption, app, exit_for, load, print_table
from shardflake.cli.output import Format, FormatOption, iso, print_json, utc
from shardflake.errors import FleetFileError, InvalidIdError

if TYPE_CHECKING:
    from shardflake.fleet.file import Fleet
    from shardflake.fleet.registry import Entry


@app.command(no_args_is_help=True)
def claim(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the shard, in the file.")],
    file: FileOption = DEFAULT_FILE,
    shard_id: Annotated[
        int | None, typer.Option("--shard-id", metavar="N", min=0, max=8191, help="This one, not the lowest free.")
    ] = None,
    reuse_retired: Annotated[
        bool, typer.Option("--reuse-retired", help="Allow a retired one; none of its ids may be left anywhere.")
    ] = False,
) -> None:
    """Register a shard's id, or hand out the lowest free one and assign it; safe to repeat."""
    fleet = load(file)
    from shardflake.fleet import registry

    given = registry.claim(_registry_of(fleet), fleet[name], shard_id, reuse_retired=reuse_retired)
    typer.echo(f"{name} holds shard id {given}")


@app.command(no_args_is_help=True)
def retire(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the shard, in the registry.")], file: FileOption = DEFAULT_FILE
) -> None:
    """Give up the shard ids of a shard that is gone; they are never handed out again."""
    fleet = load(file)
    from shardflake.fleet import registry
    from shardflake.fleet.file import ranges

    gone = registry.retire(_registry_of(fleet), name)
    typer.echo(f"retired {', '.join(ranges(gone))} of {name}")


@app.command()
def registry(
    file: FileOption = DEFAULT_FILE,
    install: Annotated[bool, typer.Option("--install", help="Install the registry first, or bring it up to date.")] = False,
    sql: Annotated[bool, typer.Option("--sql", help="Print the SQL that --install would run; needs no server.")] = False,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Show who holds which shard id."""
    require_driver()
    from shardflake.fleet import registry
    from shardflake.install import write_script

    if sql:
        typer.echo(write_script(directory=registry.directory()), nl=False)
        return
    database = _registry_of(load(file))
    if install:
        registry.install_registry(database)
    known = registry.entries(database)
    if format_ is Format.JSON:
        print_json({"shards": [dataclasses.asdict(entry) | _times(entry) for entry in known]})
    else:
        rows = [
            (
                str(entry.shard_id),
                entry.name,
                "logical" if entry.logical else "",
                entry.database_name,
                utc(entry.claimed_at),
                utc(entry.retired_at) if entry.retired_at is not None else "",
            )
            for entry in known
        ]
        print_table(("id", "name", "kind", "database", "claimed", "retired"), rows)


@app.command("create-logical", no_args_is_help=True)
def create_logical(
    numbers: Annotated[str, typer.Argument(metavar="N,N-N...", help="Shard ids, such as 100,200-299.")],
    on: Annotated[str, typer.Option("--on", metavar="NAME", help="The shard that shall issue them.")],
    file: FileOption = DEFAULT_FILE,
) -> None:
    """Let a database issue ids of further shards; thousands cost no more than one."""
    fleet = load(file)
    from shardflake.fleet import logical, registry
    from shardflake.fleet.file import numbers as parse

    try:
        shard_ids = parse(numbers.split(","))
    except ValueError as error:
        raise InvalidIdError(str(error)) from error
    for shard in fleet.shards:
        taken = [number for number in shard_ids if number in shard.shard_ids]
        if shard.name != on and taken:
            raise InvalidIdError(f"shard id {taken[0]} is that of {shard.name}")
    if fleet.registry is not None:  # before the database issues any
        registry.claim_logical(fleet.registry, fleet[on], shard_ids)
    logical.create(fleet[on], shard_ids)
    typer.echo(f"{on} issues ids of {len(shard_ids)} further shards; add them to its logical_shards in {file}")


@app.command("list-logical")
def list_logical(
    file: FileOption = DEFAULT_FILE, tag: TagOption = None, jobs: JobsOption = None, format_: FormatOption = Format.TABLE
) -> None:
    """Show which shard ids each database issues, its own included."""
    fleet = load(file, tag)
    from shardflake.fleet.file import ranges
    from shardflake.fleet.observe import probe
    from shardflake.fleet.pool import Failure, pool

    with pool(jobs) as workers:
        found = dict(workers.run(probe, fleet.shards))
    known = {
        shard.name: [] if isinstance(answer := found[shard], Failure) else list(answer.logical_shards) for shard in fleet.shards
    }
    failed = {shard.name: answer.message for shard in fleet.shards if isinstance(answer := found[shard], Failure)}
    if format_ is Format.JSON:
        print_json({"shards": known, "errors": failed})
    else:
        print_table(
            ("shard", "issues ids of"),
            [(name, failed.get(name) or ", ".join(ranges(ids)) or "none") for name, ids in known.items()],
        )
    exit_for([True] * len(failed), len(known))


@app.command("move-logical", no_args_is_help=True)
def move_logical(
    shard_id: Annotated[int, typer.Argument(metavar="N", help="The logical shard's id.")],
    source: Annotated[str, typer.Option("--from", metavar="NAME", help="The shard that issues its ids now.")],
    target: Annotated[str, typer.Option("--to", metavar="NAME", help="The shard that shall issue them.")],
    file: FileOption = DEFAULT_FILE,
    schema: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Copy this schema's tables; without it, only the right to issue ids moves."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a move without --schema that was interrupted.")] = False,
    patience: Annotated[float, typer.Option(metavar="SECONDS", min=0, help="To wait for transactions of the source.")] = 60.0,
) -> None:
    """Move a logical shard to another database: the source refuses from then on, ids stay unique and ascend."""
    fleet = load(file)
    from shardflake.fleet import logical

    done = logical.move(
        fleet[source], fleet[target], shard_id, schema=schema, resume=resume, patience=patience, registry=fleet.registry
    )
    typer.echo(
        f"shard {shard_id} is on {target}: {done.rows} rows copied, no ids for {done.seconds:.2f} s; change {file} accordingly"
    )
    if done.left_in is not None:
        typer.echo(f"the old rows are in schema {done.left_in} of {source}; drop it when you are sure")


def _registry_of(fleet: Fleet) -> str:
    if fleet.registry is None:
        raise FleetFileError('the file names no registry; write registry = "postgresql://..." above the first shard')
    return fleet.registry


def _times(entry: Entry) -> dict[str, str | None]:
    return {"claimed_at": iso(entry.claimed_at), "retired_at": iso(entry.retired_at) if entry.retired_at is not None else None}
