"""Draw a run: tables for the terminal, a Markdown page for the documentation. Reads samples, measures nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.table import Table

from shardflake.bench.blocks import Sample, by_block, ratio
from shardflake.bench.generator.contenders import AGAIN, BASELINE, CONTENDERS
from shardflake.bench.generator.load import SESSIONS, Sizes
from shardflake.bench.generator.targets import Outcome, outcomes, resolution, resolved
from shardflake.bench.statistics import SAME, Estimate, estimate

COLUMNS = (
    ("bulk", "bulk", "rows_per_s", 2),
    ("async", "single_async", "rows_per_s", 2),
    ("sync", "single_sync", "rows_per_s", 2),
    ("COPY", "copy", "seconds", 2),
    ("index", "bulk", "index_bytes_per_row", 3),
    ("WAL", "bulk", "wal_bytes_per_row", 3),
)
_COLOURS = {"pass": "green", "miss": "red", "~": "yellow", "-": "dim"}


def render(samples: Sequence[Sample], environment: dict[str, Any]) -> Group:
    """Return the tables of a run for a terminal of 100 columns."""
    targets = Table(title="Targets", title_justify="left", title_style="bold")
    targets.add_column("measured within one run")
    for heading in ("target", "measured", "95 % interval"):
        targets.add_column(heading, justify="right", no_wrap=True)
    targets.add_column("", justify="center")
    for outcome in outcomes(samples):
        colour = _COLOURS[outcome.verdict]
        targets.add_row(*_target_cells(outcome), f"[{colour}]{outcome.verdict}[/]")
    comparison = Table(
        title="Ratios to bigserial: rows/s, rows/s, rows/s, time, bytes/row, bytes/row",
        title_justify="left",
        title_style="bold",
    )
    comparison.add_column("key", no_wrap=True)
    for heading in (*(heading for heading, *_ in COLUMNS), "duplicates"):
        comparison.add_column(heading, justify="right", no_wrap=True)
    for row in _comparison(samples, interval=False):
        comparison.add_row(*row)
    notes = "\n".join([*_legend(samples), *environment["notes"], *_details(samples), _machine(environment)])
    return Group(targets, comparison, Padding(notes, (0, 1)))


def markdown(samples: Sequence[Sample], environment: dict[str, Any], sizes: Sizes) -> str:
    """Return the page of a run."""
    target_rows = [(*_target_cells(outcome), outcome.verdict) for outcome in outcomes(samples)]
    headings = ["key", *(heading for heading, *_ in COLUMNS), "duplicates"]
    page = Template(Path(__file__).with_name("page.md").read_text(encoding="utf-8"))
    return page.substitute(
        targets=_markdown_table(["measured within one run", "target", "measured", "95 % interval", ""], target_rows),
        ratios=_markdown_table(headings, _comparison(samples, interval=True)),
        legend=_bullets([*_legend(samples), *environment["notes"]]),
        details=_bullets(_details(samples)),
        sessions=SESSIONS,
        bulk_rows=f"{SESSIONS * sizes.bulk_statements * 1000:,}",
        copy_rows=f"{sizes.copy_rows:,}",
        machine=_machine(environment),
        build_options=environment["build_options"].strip(),
        settings="\n".join(f"{name} = {value}" for name, value in environment["settings"].items()),
    )


def _target_cells(outcome: Outcome) -> tuple[str, str, str, str]:
    target, measured = outcome.target, outcome.measured
    if measured is None:
        return target.label, target.wanted, "not measured", ""
    interval = f"{measured.low:.{target.digits}f} to {measured.high:.{target.digits}f}"
    if target.baseline == BASELINE and not resolved(measured, 1.0, outcome.resolution):
        return target.label, target.wanted, SAME, interval
    return target.label, target.wanted, f"{measured.mean:.{target.digits}f}{target.unit}", interval


def _comparison(samples: Sequence[Sample], *, interval: bool) -> list[list[str]]:
    """Return a row per contender; the A/A row shows its interval, which is the resolution."""
    rows = []
    for contender in CONTENDERS.values():
        if contender.name == BASELINE or not by_block(samples, "bulk", "rows_per_s", contender.name):
            continue
        cells = [
            _ratio_cell(samples, workload, metric, contender.name, digits, interval) for _, workload, metric, digits in COLUMNS
        ]
        duplicates = sum(by_block(samples, "bulk", "duplicates", contender.name).values())
        rows.append([contender.label, *cells, f"{duplicates:,.0f}"])
    return rows


def _ratio_cell(samples: Sequence[Sample], workload: str, metric: str, name: str, digits: int, interval: bool) -> str:
    measured = ratio(samples, workload, metric, name, BASELINE)
    if measured is None:
        return ""
    if name == AGAIN:
        percent = (measured.resolution - 1) * 100
        return f"±{percent:.{digits - 1}f} %" if percent < 100 else "> ±100 %"
    same = not resolved(measured, 1.0, resolution(samples, workload, metric))
    mean = SAME if same else f"{measured.mean:.{digits}f}"
    return f"{mean} ({measured.low:.{digits}f}–{measured.high:.{digits}f})" if interval else mean  # noqa: RUF001


def _legend(samples: Sequence[Sample]) -> list[str]:
    blocks = len(by_block(samples, "bulk", "rows_per_s", BASELINE))
    instagram = by_block(samples, "bulk", "duplicates", "instagram")
    rows = by_block(samples, "bulk", "rows", "instagram")
    return [
        f"{blocks} randomised blocks. The row A/A is bigserial against itself: its interval is what the run can resolve. "
        f"{SAME} in place of a ratio: not told from bigserial; in place of a verdict: too near to the target to tell; "
        "-: not measured, as this server or installation lacks what it needs.",
        f"Instagram's function: {sum(instagram.values()):,.0f} duplicate keys in {sum(rows.values()):,.0f} rows.",
    ]


def _details(samples: Sequence[Sample]) -> list[str]:
    """Return the absolute numbers behind the ratios."""
    lines = []
    for text, workload, metric, contender, digits in (
        ("bigserial, bulk: {} rows/s", "bulk", "rows_per_s", BASELINE, 0),
        ("bigserial, single rows, asynchronous commit: {} rows/s", "single_async", "rows_per_s", BASELINE, 0),
        ("bigserial, single rows, synchronous commit: {} rows/s", "single_sync", "rows_per_s", BASELINE, 0),
        ("bigserial, COPY: {} s", "copy", "seconds", BASELINE, 2),
        ("bigserial, index: {} bytes/row", "bulk", "index_bytes_per_row", BASELINE, 2),
        ("bigserial, WAL: {} bytes/row", "bulk", "wal_bytes_per_row", BASELINE, 2),
        ("next_ids(10000), gross: {} ids/s", "batches", "gross_ids_per_s", "shardflake", 0),
        ("counting 10,000 rows of generate_series alone: {} rows/s", "batches", "baseline_ids_per_s", "shardflake", 0),
        ("the loop without the generator: {} rows/s", "loop", "baseline_ids_per_s", "shardflake", 0),
    ):
        values = by_block(samples, workload, metric, contender)
        if len(values) > 1:
            lines.append(text.format(_with_interval(estimate(list(values.values())), digits)))
    return lines


def _with_interval(value: Estimate, digits: int) -> str:
    return f"{value.mean:,.{digits}f} ({value.low:,.{digits}f} to {value.high:,.{digits}f})"


def _machine(environment: dict[str, Any]) -> str:
    commit = (environment["commit"] or "none")[:12] + (", with changes not committed" if environment["dirty"] else "")
    return (
        f"{environment['date']}, commit {commit}, seed {environment['seed']}. "
        f"{environment['cpu']}, {environment['cores']} cores, {environment['system']}. {environment['server']}. "
        f"shardflake {environment['shardflake']}, SQLAlchemy {environment['sqlalchemy']}, psycopg {environment['psycopg']}, "
        f"Python {environment['python']}."
    )


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] + ["---:"] * (len(headings) - 1), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
