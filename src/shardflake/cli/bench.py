"""The commands ``shardflake bench …``: shells over :mod:`shardflake.bench`, which is imported when one of them runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shardflake.cli.output import Format, FormatOption, print_json, stderr, stdout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from shardflake.bench.comparison import Change
    from shardflake.bench.storage import Results

app = typer.Typer(help="Measure what each key type costs a B-tree.", no_args_is_help=True)

_WIDTH = 100
_Directory = Annotated[Path, typer.Argument(exists=True, file_okay=False, help="A directory that `bench run` wrote.")]


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
