"""Full-page images against rows per leaf between two checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shardflake.bench import index, wal
from shardflake.bench.contenders import Contender
from shardflake.bench.physics import image_bytes, images_per_row
from shardflake.bench.profiles import Profile
from shardflake.bench.scratch import Bench
from shardflake.bench.section import INDEX, TABLE, Params, Section
from shardflake.bench.workloads.base import Workload

_COMPARED = ("bigserial", "shardflake", "uuidv7", "uuidv4")
_MOST_ROUNDS = 30


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
        base = profile.index_rows
        x = section.params["x"]
        made = section.keys(base * 2)
        section.make_table(declared=section.contender.declared)
        section.load(made[:base])
        pages, density = index.density(section.bench, INDEX)
        each = max(1, round(x * pages))
        rounds = max(1, min(_MOST_ROUNDS, -(-base // (4 * each)), base // each))
        total = wal.Written(0)
        with section.session() as session:
            session.execute("select set_config('wal_compression', %s, false)", (section.params["wal_compression"],))
            for number in range(rounds):
                section.bench.checkpoint()
                start = wal.position(section.bench)
                section.load(made[base + number * each : base + (number + 1) * each], session)
                one = wal.attribute(section.bench, start, wal.position(section.bench), TABLE, [INDEX])
                total.total += one.total
                total.parts.update(one.parts)
                total.images += one.images
        rows = rounds * each
        section.sample("wal_bytes_per_row", total.total / rows, "bytes/row")
        for part in ("wal_heap", "wal_index_insert", "wal_split", "wal_index_fpi", "wal_sequence"):
            section.sample(part, total.parts[part] / rows, "bytes/row")
        section.sample("wal_other", total.other / rows, "bytes/row")
        random = section.contender.name == "uuidv4" and section.params["wal_compression"] == "off"
        if section.block == 0 and random and total.images:
            image = image_bytes((density + index.density(section.bench, INDEX)[1]) / 2)
            section.physics("fpi_bytes", "fpi_bytes", image, total.parts["wal_index_fpi"] / total.images, "bytes")
            predicted = image * images_per_row(x)
            section.physics("wal_index_fpi", "fpi_per_row", predicted, total.parts["wal_index_fpi"] / rows, "bytes/row")
