"""Delete the oldest rows, VACUUM, insert as many new ones: what it costs, and whether the index grows."""

from __future__ import annotations

from psycopg import sql

from shardflake.bench import copying, index
from shardflake.bench.keys import Keys
from shardflake.bench.profiles import Profile
from shardflake.bench.section import INDEX, TABLE, Section
from shardflake.bench.workloads.base import Workload

ROUNDS = 5


class Retention(Workload):
    """Keep a table at one size: every round deletes the oldest tenth and inserts another one.

    Keys that follow time are deleted by a range; others by the list of the oldest keys, as a table with a time column gives it.
    """

    name = "retention"
    summary = "delete the oldest tenth, VACUUM, insert again, five times: seconds, and size over time"

    def run(self, section: Section, profile: Profile) -> None:
        tenth = profile.index_rows // 10
        made = section.keys(tenth * (10 + ROUNDS))
        section.make_table(declared=section.contender.declared)
        section.load(made[: tenth * 10])
        section.bench.connection.execute(f"vacuum (analyze) {TABLE}".encode())
        section.bench.checkpoint()
        sizes = [index.size(section.bench, INDEX)]
        for number in range(ROUNDS):
            oldest = made[number * tenth : (number + 1) * tenth]
            newest = made[(10 + number) * tenth : (11 + number) * tenth]
            self._list(section, oldest)
            seconds = {
                "delete": section.timed(lambda: self._delete(section)),
                "vacuum": section.timed(lambda: self._run(section, f"vacuum {TABLE}")),
                "insert": section.timed(lambda newest=newest: section.load(newest)),  # type: ignore[misc]
            }
            for phase, value in seconds.items():
                section.with_params(phase=phase).sample("seconds", value, "s")
            sizes.append(index.size(section.bench, INDEX))
        section.series("size_by_round", list(range(ROUNDS + 1)), sizes, "rounds", "bytes")

    def _list(self, section: Section, oldest: Keys) -> None:
        self._run(section, f"drop table if exists oldest; create table oldest (id {section.contender.declared})")
        copying.load(section.bench.connection, sql.Identifier("oldest"), ["id"], copying.encode([oldest], len(oldest)))
        self._run(section, "analyze oldest")

    def _delete(self, section: Section) -> None:
        if section.contender.ordered:
            # min and max of uuid came with PostgreSQL 18
            newest = "(select id from oldest order by id desc limit 1)"
            self._run(section, f"delete from {TABLE} where id <= {newest}")  # noqa: S608
        else:
            self._run(section, f"delete from {TABLE} using oldest where {TABLE}.id = oldest.id")  # noqa: S608

    def _run(self, section: Section, statement: str) -> None:
        section.bench.connection.execute(statement.encode())
