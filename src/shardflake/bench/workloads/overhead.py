"""What the runner adds to what it measures: its own pgbench runs beside bare ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shardflake.bench.contenders import BASELINE, Contender
from shardflake.bench.profiles import Profile
from shardflake.bench.scratch import Bench
from shardflake.bench.section import Params, Section
from shardflake.bench.workloads.base import Workload
from shardflake.bench.workloads.sessions import INSERT

_TRANSACTIONS = 100_000
"""Of each run at most: 2 to 3 seconds, most of which is no start-up."""


class Overhead(Workload):
    """Run pgbench as the benchmark does, with a log of latencies, and without one."""

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
        transactions = max(1, min(_TRANSACTIONS, 10 * profile.session_rows) // clients)
        for runner in ("bare", "ours") if section.block % 2 else ("ours", "bare"):
            section.make_table()
            section.bench.checkpoint()
            done = section.run_pgbench([INSERT], clients, transactions, log=runner == "ours")
            place = section.with_params(runner=runner)
            place.sample("rows_per_second", done.transactions_per_second, "rows/s")
            if done.cpu_s is not None:
                cpu = done.cpu_s + done.client_cpu_s
                place.sample("cpu_us_per_row", cpu / (transactions * clients) * 1e6, "µs/row")
