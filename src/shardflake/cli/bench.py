"""The commands ``shardflake bench …``: shells over :mod:`shardflake.bench`, which is imported when one of them runs."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shardflake.cli.output import Format, FormatOption, print_json, stderr, stdout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.table import Table

    from shardflake.bench.comparison import Change
    from shardflake.bench.runner import Plan
    from shardflake.bench.storage import Results

app = typer.Typer(help="Measure what each key type costs a B-tree.", no_args_is_help=True)

_WIDTH = 100
_Directory = Annotated[Path, typer.Argument(exists=True, file_okay=False, help="A directory that `bench run` wrote.")]


@app.command("list")
def list_() -> None:
    """List the key types, workloads and profiles that can be run."""
    from shardflake.bench.contenders import CONTENDERS
    from shardflake.bench.profiles import PROFILES
    from shardflake.bench.workloads import WORKLOADS

    out = stdout()
    out.print("key types (and yours: --contender NAME=TYPE:EXPRESSION)")
    for contender in CONTENDERS:
        remark = ". ".join(filter(None, (contender.control and f"control: {contender.control}", contender.note)))
        out.print(f"  {contender.name:<18} {contender.type:<7} {contender.label}" + (f"; {remark}" if remark else ""))
    out.print("workloads")
    for workload in WORKLOADS:
        out.print(f"  {workload.name:<18} {workload.summary}")
    out.print("profiles")
    for profile in PROFILES.values():
        out.print(f"  {profile.name:<18} {profile.bulk_rows:,} rows in a bulk load, {profile.blocks_of('bulk')} blocks")


@app.command()
def run(
    profile: Annotated[str, typer.Option(help="quick (under 2 minutes), standard (about 15) or full (hours).")] = "standard",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Directory for the results; a new one by default.")
    ] = None,
    contender: Annotated[
        list[str] | None,
        typer.Option(help="Only this key type (and bigserial), or one of yours as NAME=TYPE:EXPRESSION; may be repeated."),
    ] = None,
    workload: Annotated[list[str] | None, typer.Option(help="Only this workload; may be repeated.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the keys and of the random orders.")] = 1,
    url: Annotated[
        str | None, typer.Option(help="A database of yours to run in, in scratch schemas that are removed; else a new server.")
    ] = None,
    pg_bin: Annotated[
        Path | None, typer.Option(exists=True, file_okay=False, help="Programs of the server to start; else the embedded one.")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="Go on with the run in this directory, as it was asked for."),
    ] = None,
) -> None:
    """Measure key types in randomised blocks, and draw the report. Prints the path of the page.

    Ctrl-C keeps what was measured, and --resume goes on from there. Numbers are for the machine and server that ran it.
    """
    try:
        from shardflake.bench import reporting, runner
    except ImportError as error:
        raise typer.BadParameter(f"the benchmark needs {error.name}: pip install 'shardflake[bench,server]'") from error

    directory = resume or output or _new_directory()
    plan = _recorded_plan(resume, url, pg_bin) if resume else _plan(profile, contender, workload, seed, url, pg_bin)
    try:
        with _progress() as show:
            runner.run(plan, directory, show, resume=resume is not None)
    except KeyboardInterrupt:
        stderr().print(f"Interrupted. What was measured is kept: shardflake bench run --resume {directory} goes on.")
        raise typer.Exit(130) from None
    typer.echo(reporting.write(directory))


def _new_directory() -> Path:
    from datetime import datetime

    return Path(f"benchmark-{datetime.now().astimezone():%Y%m%d-%H%M%S}")


def _plan(
    profile: str, contenders: list[str] | None, workloads: list[str] | None, seed: int, url: str | None, pg_bin: Path | None
) -> Plan:
    from shardflake.bench.contenders import select
    from shardflake.bench.profiles import PROFILES
    from shardflake.bench.runner import Plan
    from shardflake.bench.workloads import WORKLOADS

    if profile not in PROFILES:
        raise typer.BadParameter(f"unknown profile {profile!r}; known: {', '.join(PROFILES)}", param_hint="--profile")
    known = {workload.name: workload for workload in WORKLOADS}
    if unknown := sorted(set(workloads or ()) - known.keys()):
        message = f"unknown workload {', '.join(unknown)}; known: {', '.join(known)}"
        raise typer.BadParameter(message, param_hint="--workload")
    try:
        chosen = select(contenders or ())
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--contender") from error
    return Plan(PROFILES[profile], chosen, [known[name]() for name in workloads or known], seed, url, pg_bin)


def _recorded_plan(directory: Path, url: str | None, pg_bin: Path | None) -> Plan:
    """Return the plan of a run that was cut."""
    from shardflake.bench.contenders import recorded
    from shardflake.bench.profiles import PROFILES
    from shardflake.bench.runner import Plan
    from shardflake.bench.store import header_of
    from shardflake.bench.workloads import WORKLOADS

    header = header_of(directory)
    if header["own_server"] != (url is None):
        what = "on a server of its own: leave --url out" if header["own_server"] else "in a database of yours: give its --url"
        raise typer.BadParameter(f"the run in {directory} was {what}", param_hint="--url")
    known = {workload.name: workload for workload in WORKLOADS}
    workloads = [known[name]() for name in header["workloads"]]
    return Plan(PROFILES[header["profile"]], recorded(header["contenders"]), workloads, header["seed"], url, pg_bin)


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """Give a function that shows a step and the time left on stderr; silent where that is no terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = stderr()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("starting a server", total=None)
        yield lambda step, done, total: bar.update(task, description=step, completed=done, total=total)


@app.command()
def report(directory: _Directory) -> None:
    """Draw the report of a run again from its raw results; needs no server. Prints the path of the page.

    Writes report.html, report.md, report.csv and report.json into the directory.
    """
    from shardflake.bench import reporting

    typer.echo(reporting.write(directory))


@app.command()
def compare(
    before: _Directory,
    after: _Directory,
    across_machines: Annotated[
        bool, typer.Option("--across-machines", help="Compare runs of different machines all the same.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="Also list what did not change, as ~.")] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Say what changed between two runs: ~ is what they cannot resolve. Exits 1 if something changed.

    Values with a times sign are ratios to the baseline within each block; the baseline's own are absolute. A change is
    claimed if it lies outside the A/A band of both runs and its interval, widened for the number of comparisons, leaves 1 out.
    """
    from shardflake.bench.comparison import changes, check_comparable
    from shardflake.bench.storage import read

    first, second = read(before), read(after)
    remarks = check_comparable(first, second, across_machines=across_machines)
    found = list(changes(first, second))
    claimed = [each for each in found if each.claimed]
    if output is Format.JSON:
        for each in found if everything else claimed:
            print_json(_as_json(each))
    else:
        for remark in remarks:
            stderr().print(remark)
        console = stdout()
        console.width = _WIDTH
        if shown := (found if everything else claimed):
            console.print(_table(first, shown))
        console.print(f"{len(claimed)} of {len(found)} changed beyond what these runs resolve.")
    raise typer.Exit(1 if claimed else 0)


def _table(run: Results, found: Sequence[Change]) -> Table:
    from rich import box
    from rich.table import Table

    from shardflake.bench.reporting.words import compact, metric_label, told, workload_label

    table = Table(box=box.SIMPLE_HEAD, width=_WIDTH, pad_edge=False)
    for heading in ("workload", "key", "metric"):
        table.add_column(heading, ratio=1, overflow="fold")
    for heading in ("before", "after", "change", "95 % interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    for each in found:
        case = told(each.key.params)
        workload = workload_label(each.key.workload) + (f", {case}" if case else "")
        interval = f"{each.estimate.low:.3f} to {each.estimate.high:.3f}" if each.estimate else "one block"
        levels = [f"×{value:.3f}" if each.relative else compact(value) for value in (each.before, each.after)]  # noqa: RUF001
        table.add_row(workload, run.label(each.key.contender), metric_label(each.key.metric), *levels, each.text, interval)
    return table


def _as_json(each: Change) -> dict[str, object]:
    return {
        "workload": each.key.workload,
        "contender": each.key.contender,
        "params": dict(each.key.params),
        "metric": each.key.metric,
        "relative": each.relative,
        "before": each.before,
        "after": each.after,
        "change": each.estimate and each.estimate.mean,
        "low": each.estimate and each.estimate.low,
        "high": each.estimate and each.estimate.high,
        "resolution": each.resolution,
        "claimed": each.claimed,
    }
