"""What the runner adds to what it measures: its own pgbench runs beside bare ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shardflake.bench.contenders import BASELINE, Contender
from shardflake.bench.profiles import Profile
from shardflake.bench.scratch import Bench
from shardflake.bench.section import Params, Section
from shardflake.bench.workloads.base import Workload
from shardflake.bench.workloads.sessions import INSERT


class Overhead(Workload):
    """Run pgbench as the benchmark does, with a log of every transaction, and without one."""

    name = "overhead"
    summary = "the runner itself: pgbench as it is run here against bare pgbench"
    needs = frozenset({"pgbench"})

    def contenders(self, known: Sequence[Contender], bench: Bench) -> list[Contender]:
        """Return the baseline."""
        return [each for each in known if each.name == BASELINE]

    def cases(self, profile: Profile) -> Iterator[Params]:
        for runner in ("bare", "ours"):
            yield {"clients": max(profile.clients[:2]), "runner": runner}

    def run(self, section: Section, profile: Profile) -> None:
        clients = section.params["clients"]
        section.make_table()
        section.bench.checkpoint()
        transactions = max(1, profile.session_rows // clients)
        done = section.run_pgbench([INSERT], clients, transactions, log=section.params["runner"] == "ours")
        section.sample("rows_per_second", done.transactions_per_second, "rows/s")
