"""``shardflake fleet``: many shards with one command. A shell over :mod:`shardflake.fleet`, imported by the commands."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shardflake.cli.db import print_diff, require_driver
from shardflake.cli.output import Format, FormatOption, hide_passwords, print_json, stderr, stdout, utc

if TYPE_CHECKING:
    from shardflake.fleet.check import Finding
    from shardflake.fleet.file import Fleet, Shard
    from shardflake.fleet.pool import Failure
    from shardflake.fleet.upgrade import Outcome
    from shardflake.install import Status

app = typer.Typer(help="Install, check and operate the generator in every shard of a fleet.", no_args_is_help=True)

FileOption = Annotated[
    Path,
    typer.Option("--file", "-f", metavar="FILE", envvar="SHARDFLAKE_FLEET", help="List of the shards, see docs/fleet.md."),
]
TagOption = Annotated[str | None, typer.Option("--tag", metavar="TAG", help="Only the shards that have this tag.")]
JobsOption = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, max=64, help="Shards at once; by default one for each processor, 2 to 16.")
]
DEFAULT_FILE = Path("shards.toml")


class StatusFormat(StrEnum):
    """How ``fleet status`` prints."""

    TABLE = "table"
    JSON = "json"
    PROMETHEUS = "prometheus"


@app.command()
def plan(
    file: FileOption = DEFAULT_FILE, tag: TagOption = None, jobs: JobsOption = None, format_: FormatOption = Format.TABLE
) -> None:
    """Show what upgrade would do to each shard, and which locks it takes; changes nothing."""
    fleet = load(file, tag)
    from shardflake.fleet import upgrade
    from shardflake.fleet.pool import pool

    with pool(jobs) as workers:
        steps = upgrade.plan(workers, fleet)
    rows = [(step.shard.name, step.installed or "none", step.problem or ", ".join(step.actions) or "nothing") for step in steps]
    if format_ is Format.JSON:
        shards = [
            {"shard": step.shard.name, "revision": step.installed, "actions": list(step.actions), "problem": step.problem}
            for step in steps
        ]
        print_json({"locks": upgrade.LOCKS, "shards": shards})
    else:
        print_table(("shard", "revision", "what upgrade would do"), rows)
        stderr().print(f"Locks in each shard: {upgrade.LOCKS}.")
    exit_for([step.unreachable for step in steps if step.problem is not None], len(steps))


@app.command("upgrade")
def upgrade_(
    file: FileOption = DEFAULT_FILE,
    tag: TagOption = None,
    canary: Annotated[
        str | None, typer.Option(metavar="NAME", help="Upgrade this shard first, the others only if it succeeds.")
    ] = None,
    max_failures: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Begin no further shard after more than N failures.")
    ] = None,
    jobs: JobsOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Bring every shard to the newest revision and give it its shard id; safe to interrupt and to repeat."""
    fleet = load(file, tag)
    from shardflake.fleet.pool import pool
    from shardflake.fleet.upgrade import Limits, upgrade

    limits = Limits(canary, max_failures)
    with progress("upgrading", len(fleet.shards)) as advance, pool(jobs) as workers, interruptible(limits.stop):
        outcomes = upgrade(workers, fleet, limits, lambda outcome: advance())
    if format_ is Format.JSON:
        print_json({"shards": [_outcome_json(outcome) for outcome in outcomes]})
    else:
        print_table(("shard", "result", "revision", "seconds", "remark"), [_outcome_row(outcome) for outcome in outcomes])
    counts = {
        name: sum(outcome.result == name for outcome in outcomes) for name in ("upgraded", "unchanged", "failed", "skipped")
    }
    stderr().print(", ".join(f"{count} {name}" for name, count in counts.items() if count))
    if counts["failed"] or counts["skipped"]:
        raise typer.Exit(1)


@app.command()
def check(
    file: FileOption = DEFAULT_FILE,
    tag: TagOption = None,
    max_clock_difference: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="Of a shard from the middle of the fleet, beyond the round trip.")
    ] = 0.25,
    min_years: Annotated[float, typer.Option(metavar="YEARS", min=0, help="That the time field must last.")] = 1.0,
    jobs: JobsOption = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Find what is wrong: ids that clash, copies, drift, clocks, columns; exit 1 if anything is."""
    fleet = load(file, tag)
    from shardflake.fleet import check as checks
    from shardflake.fleet.pool import pool
    from shardflake.fleet.registry import entries

    registry = entries(fleet.registry) if fleet.registry is not None else None
    thresholds = checks.Thresholds(timedelta(seconds=max_clock_difference), min_years)
    with progress("checking", len(fleet.shards)) as advance, pool(jobs) as workers:
        findings = checks.check(workers, fleet, registry, thresholds, advance)
    if format_ is Format.JSON:
        print_json({"shards": len(fleet.shards), "findings": [dataclasses.asdict(finding) for finding in findings]})
    else:
        _print_findings(findings, len(fleet.shards))
    serious = [finding for finding in findings if not finding.notice]
    exit_for([finding.kind == "unreachable" for finding in serious], len(fleet.shards))


@app.command()
def status(
    file: FileOption = DEFAULT_FILE,
    tag: TagOption = None,
    jobs: JobsOption = None,
    format_: Annotated[
        StatusFormat, typer.Option("--format", help="For people, for programs, or for Prometheus.")
    ] = StatusFormat.TABLE,
) -> None:
    """Show the state of every shard; exit 1 if one would refuse to issue ids or does not answer."""
    fleet = load(file, tag)
    from shardflake.fleet import metrics, observe
    from shardflake.fleet.pool import Failure, pool

    with pool(jobs) as workers:
        found = dict(workers.run(observe.status, fleet.shards))
    states = {shard: found[shard] for shard in fleet.shards}
    if format_ is StatusFormat.PROMETHEUS:
        typer.echo(metrics.text(states), nl=False)
    elif format_ is StatusFormat.JSON:
        print_json({"shards": [_status_json(shard, state) for shard, state in states.items()]})
    else:
        columns = ("shard", "id", "identity", "revision", "lead", "mark", "peak/ms", "years")
        print_table(columns, [_status_row(shard, state) for shard, state in states.items()])
    bad = [
        isinstance(state, Failure) and state.kind == "ConnectionFailedError"
        for state in states.values()
        if isinstance(state, Failure) or not metrics.ready(state)
    ]
    exit_for(bad, len(states))


def load(file: Path, tag: str | None = None) -> Fleet:
    """Return the fleet of a file, or the part of it that has a tag, and print its warnings."""
    require_driver()
    from shardflake.fleet.file import read

    fleet = read(file)
    for warning in fleet.warnings:
        stderr().print(f"warning: {warning}", style="yellow")
    return fleet.tagged(tag) if tag is not None else fleet


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table as wide as the terminal; on a pipe, each row on one line, with tabs."""
    console = stdout()
    if not console.is_terminal:
        for row in (columns, *rows):
            typer.echo("\t".join(cell.replace("\t", " ").replace("\n", " ") for cell in row))
        return
    from rich import box
    from rich.table import Table

    table = Table(*columns, box=box.SIMPLE_HEAD)
    for row in rows:
        table.add_row(*row)
    console.print(table, soft_wrap=False)


def exit_for(unreachable: Sequence[bool], shards: int) -> None:
    """End with 1 for findings, with 3 if all there is to say is that no shard can be reached.

    :param unreachable: for each finding, whether it is that a shard does not answer.
    """
    if unreachable:
        raise typer.Exit(3 if all(unreachable) and len(unreachable) == shards else 1)


@contextmanager
def progress(verb: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a progress bar on stderr, if that is a terminal; give a function that counts one shard."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = stderr()
    columns = (TextColumn(verb), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(verb, total=total)
        yield lambda: bar.advance(task)


@contextmanager
def interruptible(stop: Any) -> Iterator[None]:
    """Take the first Ctrl-C as the wish to begin no further shard; the second one ends at once."""
    import signal

    def interrupt(number: int, frame: Any) -> None:
        if stop.wanted:
            raise KeyboardInterrupt
        stop.wanted = True
        stderr().print("interrupted: the shards under work are finished, no further one is begun")

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _print_findings(findings: Sequence[Finding], shards: int) -> None:
    console = stdout()
    for finding in findings:
        console.print(f"{finding.shard}: ", style="bold", end="")
        console.print(f"{finding.kind}{' (notice)' if finding.notice else ''}: {hide_passwords(finding.message)}")
        if finding.detail:
            print_diff(finding.detail)
    bad = len({finding.shard for finding in findings if not finding.notice})
    typer.echo(f"{shards} shards, {bad} with findings" if bad else f"{shards} shards, no findings")


def _outcome_json(outcome: Outcome) -> dict[str, Any]:
    return {
        "shard": outcome.shard.name,
        "result": outcome.result,
        "before": outcome.before,
        "revision": outcome.revision,
        "seconds": round(outcome.seconds, 3),
        "error": hide_passwords(outcome.error) if outcome.error is not None else None,
    }


def _outcome_row(outcome: Outcome) -> tuple[str, ...]:
    seconds = f"{outcome.seconds:.2f}" if outcome.result == "upgraded" else ""
    return outcome.shard.name, outcome.result, outcome.revision or "none", seconds, hide_passwords(outcome.error or "")


def _status_json(shard: Shard, state: Status | Failure) -> dict[str, Any]:
    from shardflake.cli.db import status_json
    from shardflake.fleet.pool import Failure

    if isinstance(state, Failure):
        return {"shard": shard.name, "error": hide_passwords(state.message)}
    return {"shard": shard.name, **status_json(state)}


def _status_row(shard: Shard, state: Status | Failure) -> tuple[str, ...]:
    from shardflake.fleet.pool import Failure

    if isinstance(state, Failure):
        return shard.name, "", hide_passwords(state.message).replace("\n", " "), "", "", "", "", ""
    lead = f"{state.lead / timedelta(milliseconds=1):.0f} ms" if state.lead is not None else "unknown"
    number = str(state.shard_id) if state.shard_id is not None else "none"
    peak = str(state.ids_per_ms_peak or 0)
    return (
        shard.name,
        number,
        state.identity,
        state.revision or "unknown",
        lead,
        utc(state.high_water),
        peak,
        str(state.years_left),
    )
