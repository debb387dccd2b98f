"""What the runner adds to what it measures: its own pgbench runs beside bare ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shardflake.bench.contenders import BASELINE, Contender
from shardflake.bench.profiles import Profile
from shardflake.bench.scratch import Bench
from shardflake.bench.section import Params, Section
from shardflake.bench.statistics import estimate
from shardflake.bench.workloads.base import Workload
from shardflake.bench.workloads.sessions import INSERT

_PAIRS = 6


class Overhead(Workload):
    """Run pgbench as the benchmark does, with a log of every transaction, and without one."""

    name = "overhead"
    summary = "the runner itself: pgbench as it is run here against bare pgbench"
    needs = frozenset({"pgbench"})

    def contenders(self, known: Sequence[Contender], bench: Bench) -> list[Contender]:
        """Return the baseline."""
        return [each for each in known if each.name == BASELINE]

    def cases(self, profile: Profile) -> Iterator[Params]:
        yield {"clients": max(profile.clients[:2])}

    def run(self, section: Section, profile: Profile) -> None:
        clients = section.params["clients"]
        transactions = max(1, profile.session_rows // clients)
        ratios = []
        for number in range(_PAIRS):
            rates = {}
            for runner in ("bare", "ours") if number % 2 else ("ours", "bare"):
                section.make_table()
                section.bench.checkpoint()
                rates[runner] = section.run_pgbench(
                    [INSERT], clients, transactions, log=runner == "ours"
                ).transactions_per_second
                section.with_params(runner=runner).sample("rows_per_second", rates[runner], "rows/s")
            ratios.append(rates["bare"] / rates["ours"])
        found = estimate(ratios)
        percent = [f"{(value - 1) * 100:+.1f}" for value in (found.mean, found.low, found.high)]
        text = f"The runner adds {percent[0]} % to the time of bare pgbench ({percent[1]} to {percent[2]}, {_PAIRS} pairs)."
        section.emit({"kind": "note", "text": text})
