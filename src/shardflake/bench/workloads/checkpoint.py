"""Full-page images against rows per leaf between two checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import psycopg

from shardflake.bench import index, physics, tree, wal
from shardflake.bench.contenders import Contender
from shardflake.bench.keys import Keys
from shardflake.bench.profiles import Profile
from shardflake.bench.scratch import Bench
from shardflake.bench.section import INDEX, TABLE, Params, Section
from shardflake.bench.workloads.base import Workload

_COMPARED = ("bigserial", "shardflake", "uuidv7", "uuidv4")
_ROUNDS, _ROUNDS_OF_CHECK = 4, 20


class Checkpoint(Workload):
    """Insert into a filled index with a checkpoint every x rows per leaf, with and without compressed images."""

    name = "checkpoint"
    summary = "WAL against rows per leaf between checkpoints, wal_compression off and on, with the theory's curve"
    needs = frozenset({"checkpoint", "pg_walinspect", "pgstattuple"})

    def contenders(self, known: Sequence[Contender], bench: Bench) -> list[Contender]:
        """Return four that show the range, and those that the user gave."""
        return [each for each in known if each.name in _COMPARED or each.keys is None]

    def cases(self, profile: Profile) -> Iterator[Params]:
        for compression in ("off", "pglz"):
            for x in profile.checkpoint_x:
                yield {"x": x, "wal_compression": compression}

    def run(self, section: Section, profile: Profile) -> None:
        base = profile.checkpoint_rows
        x = section.params["x"]
        made = section.keys(base * 2)  # 20 rounds of 3 rows a leaf are a fifth of the rows
        section.make_table(declared=section.contender.declared)
        section.load(made[:base])
        total, rows, expected, size = wal.Written(0), 0, 0.0, 0.0
        with section.session() as session:
            session.execute("select set_config('wal_compression', %s, false)", (section.params["wal_compression"],))
            for _ in range(_ROUNDS_OF_CHECK if self._predicted(section) else _ROUNDS):
                each = max(1, round(x * index.density(section.bench, INDEX)[0]))
                if self._predicted(section):
                    fills = [leaf.fill for leaf in index.leaves(section.bench, INDEX)]
                    reached, images = physics.images(fills, each, tree.item_bytes(section.contender.item_width))
                    expected, size = expected + reached, size + images
                total.add(self._round(section, session, made[base + rows :][:each]))
                rows += each
        section.parts(total, rows)
        if expected and total.images:
            section.physics("fpi_bytes", "fpi_bytes", size / expected, total.image_bytes / total.images, "bytes")
            section.physics("images_per_row", "fpi_per_row", expected / rows, total.images / rows, "1/row")

    def _round(self, section: Section, session: psycopg.Connection, made: Keys) -> wal.Written:
        """Insert rows after a checkpoint, and return what was written."""
        section.bench.checkpoint()
        start = wal.position(section.bench)
        section.load(made, session)
        return wal.attribute(section.bench, start, wal.position(section.bench), TABLE, [INDEX])

    def _predicted(self, section: Section) -> bool:
        """Say whether there is a formula for the case: random keys, images that are not compressed."""
        plain = section.params["wal_compression"] == "off" and section.block == 0
        return plain and section.contender.name == "uuidv4" and "pageinspect" in section.bench.can
