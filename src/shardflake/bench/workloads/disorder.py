"""Leaf density against disorder, with the real cases that lie on the curve."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shardflake.bench import index, keys, tree, wal
from shardflake.bench.contenders import SCRATCH, Contender
from shardflake.bench.keys import Keys, Stream
from shardflake.bench.profiles import Profile
from shardflake.bench.scratch import Bench
from shardflake.bench.section import INDEX, PAYLOAD, TABLE, Params, Section
from shardflake.bench.workloads.base import Workload
from shardflake.bench.workloads.bulk import predict
from shardflake.bench.workloads.sessions import emit_order

SWEPT = {
    64: Contender("bigint", "bigint", "bigint", "0"),
    128: Contender("uuid", "uuid", "uuid", "gen_random_uuid()", width=16),
}
_BULK = f"insert into {SCRATCH}.{TABLE} (payload) select '{PAYLOAD}' from generate_series(1, 1000)"  # noqa: S608


@dataclass(frozen=True, slots=True)
class Case:
    """A real way in which keys come out of order.

    :param label: stands at the point on the curve.
    :param contender: whose keys, and whose name in the results.
    :param keys: makes them; None: as many writers as ``writers`` draw them from the contender's default.
    """

    label: str
    contender: str
    keys: Callable[[Stream], Keys] | None = None
    writers: int = 0


def _skewed(stream: Stream) -> Keys:
    """Return keys of two nodes in one index, at 10 a millisecond together, one clock 20 ms behind the other."""
    slow = Stream(stream.random, stream.count, per_ms=10)
    node = stream.random.integers(2, size=stream.count)
    ticks = slow.microseconds() // 1000 - 20 * node
    return (ticks << 23) | (node << 10) | np.arange(stream.count) % 1024


def _node_first(stream: Stream) -> Keys:
    """Return keys of 8 nodes whose number stands above the time."""
    return (stream.random.integers(8, size=stream.count) << 60) | np.arange(stream.count)


CASES = (
    Case("bigserial CACHE 32, 8 sessions", "bigserial-cache32", keys.leased(32)),
    Case("ticket blocks of 1,000, 8 sessions", "tickets", keys.leased(1000)),
    Case("two nodes, clocks 20 ms apart, 10 ids/ms", "twitter", _skewed),
    Case("UUIDv7, ms only, 256 ids/ms", "uuidv7-ms", keys.uuidv7_ms),
    Case("UUIDv7, one session, 256 ids/ms", "uuidv7", keys.uuidv7),
    Case("node id first, 8 nodes", "sonyflake", _node_first),
    *(Case(f"shardflake, {count} writer{'s' * (count > 1)}", "shardflake", writers=count) for count in (1, 8, 32)),
    Case("bigserial, 8 writers", "bigserial", writers=8),
    Case("UUIDv7, 8 writers", "uuidv7", writers=8),
    Case("Instagram, 8 writers", "instagram", writers=8),
)


class Disorder(Workload):
    """Keys that arrive up to D late, for D from nothing to far more than a leaf holds."""

    name = "disorder"
    summary = "leaf density against how late keys arrive, 64 and 128 bits, with the real cases on the curve"

    def __init__(self) -> None:
        self._places: dict[str, Params] = {}

    def contenders(self, known: Sequence[Contender], bench: Bench) -> list[Contender]:
        """Return those that have a real case; the sweep itself is run with the baseline."""
        present = {each.name for each in known}
        wanted = {case.contender for case in CASES if case.contender in present and (not case.writers or _live(bench, case))}
        return [each for each in known if each.name in wanted]

    def run(self, section: Section, profile: Profile) -> None:
        if section.contender.name == "bigserial":
            for bits, window in self._sweep(profile):
                self._point(section, profile, bits, window)
        for case in CASES:
            if case.contender != section.contender.name:
                continue
            if case.writers == 0:
                self._made(section, profile, case)
            elif _live(section.bench, case):
                self._drawn(section, profile, case)

    def _sweep(self, profile: Profile) -> Iterator[tuple[int, float]]:
        for bits in SWEPT:
            for window in (*profile.windows, float("inf")):
                yield bits, window

    def _point(self, section: Section, profile: Profile, bits: int, window: float) -> None:
        """Measure one point of the curve."""
        of = Section(section.bench, section.emit, self.name, SWEPT[bits], section.block)
        capacity = tree.capacity(tree.item_bytes(of.contender.width))
        numbers = keys.jittered(of.stream(profile.disorder_rows), window * capacity)
        made = numbers if bits == 64 else keys.as_uuid(numbers)
        late = profile.disorder_rows if window == float("inf") else round(window * capacity)
        # the window, not what was measured of it: a parameter must be the same in every block
        placed = of.with_params(ratio=round(late / capacity, 3), distance=late, bits=bits, case=None)
        self._load(placed, made)

    def _made(self, section: Section, profile: Profile, case: Case) -> None:
        maker = case.keys
        if maker is None:
            return
        made = maker(section.stream(profile.disorder_rows))
        fixed = maker(Stream(np.random.default_rng(1), profile.disorder_rows))
        self._load(section.with_params(**_place(fixed, keys.distance(fixed)), case=case.label), made)

    def _load(self, section: Section, made: Keys) -> None:
        section.make_table(declared=section.contender.declared)
        section.load(made)
        section.sizes(len(made))
        section.sample("disorder_distance", keys.distance(made), "keys")
        section.sample("inversions_per_million", keys.descents(made) / len(made) * 1e6, "1/million rows")
        if section.block == 0:
            case = section.params["case"]  # only the sweep's own points make the curve, and they have a ratio
            predict(
                section
                if case is None
                else Section(section.bench, section.emit, self.name, section.contender, 0, {"case": case}),
                made,
            )

    def _drawn(self, section: Section, profile: Profile, case: Case) -> None:
        """Let writers draw keys for statements of 1,000 rows, and look at how late they came in."""
        transactions = max(1, profile.live_rows // (1000 * case.writers))
        rows = transactions * 1000 * case.writers
        section.make_table()
        start = wal.position(section.bench)
        section.run_pgbench([_BULK], case.writers, transactions)
        end = wal.position(section.bench)
        drawn = wal.inserted(section.bench, start, end, TABLE)
        # the first block's place stands for all: it differs a little from block to block, and a case is one point
        place = self._places.setdefault(case.label, _place(drawn, keys.distance(drawn)))
        placed = section.with_params(**place, case=case.label)
        placed.sizes(rows)
        placed.correctness(rows)
        emit_order(placed, start, end, rows)
        if section.block == 0 and section.contender.unique and "pgstattuple" in section.bench.can:
            # rows are ordered by the heap's records, those of the index come in nearly that order: density bears it
            shape = tree.grow(keys.ranks(drawn).tolist(), section.contender.item_width)
            measured = index.density(section.bench, INDEX)[1]
            section.with_params(case=case.label).physics("leaf_density", "leaf_model", shape.density, measured, "1")


def _place(made: Keys, distance: int) -> Params:
    capacity = tree.capacity(tree.item_bytes(8 if made.ndim == 1 else made.shape[1]))
    return {"ratio": round(distance / capacity, 3), "distance": distance, "bits": 64 if made.ndim == 1 else 128}


def _live(bench: Bench, case: Case) -> bool:
    return {"pgbench", "pg_walinspect"} <= bench.can and (
        case.contender not in ("shardflake", "instagram") or f"{SCRATCH}_{case.contender}" in bench.can
    )
