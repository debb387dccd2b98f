"""What one key costs to make, without a table."""

from __future__ import annotations

import statistics

from shardflake.bench.profiles import Profile
from shardflake.bench.section import Section
from shardflake.bench.workloads.base import Workload

_REPEATS = 3


class Generator(Workload):
    """Count keys over generate_series() in one statement, less the same statement without a key."""

    name = "generator"
    summary = "the generator alone: count(f()) over generate_series, less an empty one"
    live = True

    def run(self, section: Section, profile: Profile) -> None:
        count = profile.session_rows * 5
        section.make_table()
        key = section.contender.default
        with section.session() as session:

            def count_over(expression: str) -> float:
                statement = f"select count({expression}) from (select generate_series(1, {count})) as n"  # noqa: S608
                return section.timed(lambda: session.execute(statement.encode()))

            count_over(key)  # plans, caches, and the ids that a generator may borrow from the near future
            with_key = statistics.median(count_over(key) for _ in range(_REPEATS))
            without = statistics.median(count_over("1") for _ in range(_REPEATS))
        section.sample("seconds", max(with_key - without, 1e-9), "s")
        section.sample("us_per_key", max(with_key - without, 1e-9) / count * 1e6, "µs")
