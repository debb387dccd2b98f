"""What becomes of an index when its keys change: density and size before and after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from shardflake.bench import keys
from shardflake.bench.contenders import Contender
from shardflake.bench.keys import Keys, Stream
from shardflake.bench.profiles import Profile
from shardflake.bench.scratch import Bench
from shardflake.bench.section import INDEX, TABLE, Section
from shardflake.bench.workloads.base import Workload

_SHARDFLAKE = keys.layout(counter_bits=10, node_bits=13)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A change of keys in one column.

    :param contender: whose keys come after the change.
    :param before: makes the keys that fill the index.
    :param after: makes the keys that come then, half as many; it is given those of before.
    :param rewrite: whether all rows get new keys in a new index, instead.
    """

    name: str
    contender: str
    before: Callable[[Stream], Keys]
    after: Callable[[Stream, Keys], Keys]
    rewrite: bool = False


def _future(rows: int) -> Callable[[Stream], Keys]:
    """Return a maker of ascending keys, the last ``rows`` of them far in the future, as a wrong clock makes them."""

    def make(stream: Stream) -> Keys:
        made = keys.ascending(stream)
        made[len(made) - rows :] += 1 << 60
        return made

    return make


def _ahead(stream: Stream, before: Keys) -> Keys:
    """Return ascending keys that go on after the last one that is not in the future."""
    return keys.ascending(stream) + int(before[before < 1 << 60].max())


def _later(stream: Stream, before: Keys) -> Keys:
    """Return shardflake's keys: of today, and so above any bigserial."""
    return _SHARDFLAKE(stream)


def _stepped_back(stream: Stream, before: Keys) -> Keys:
    """Return shardflake's keys after the clock went back over a quarter of the rows: they go on from the newest."""
    made = _SHARDFLAKE(stream)
    return made - int(made.min()) + int(before.max()) + (1 << 23)


def _followed(stream: Stream, before: Keys) -> Keys:
    """Return UUIDv7 of a clock that went back over a quarter of the rows: they land among those of that time."""
    made = keys.uuidv7(stream)
    start = before[len(before) * 3 // 4, :6].copy()
    first = int.from_bytes(made[0, :6].tobytes(), "big")
    times = np.array([int.from_bytes(row.tobytes(), "big") for row in made[:, :6]], dtype=np.int64)
    moved = times - first + int.from_bytes(start.tobytes(), "big")
    made[:, :6] = moved.astype(">i8").view(np.uint8).reshape(-1, 8)[:, 2:]
    return made


SCENARIOS = (
    Scenario("v4 to shardflake", "shardflake", keys.uuidv4, _later, rewrite=True),
    Scenario("v4 to v7 in place", "uuidv7", keys.uuidv4, lambda stream, _: keys.uuidv7(stream)),
    Scenario("bigserial to shardflake", "shardflake", keys.ascending, _later),
    *(Scenario(f"{rows} future rows", "bigserial", _future(rows), _ahead) for rows in (10, 40, 100)),
    Scenario("clock step back", "shardflake", _SHARDFLAKE, _stepped_back),
    Scenario("clock step back", "uuidv7", keys.uuidv7, _followed),
)


class Migration(Workload):
    """Fill an index, change the keys, insert half as many rows again."""

    name = "migration"
    summary = "v4 or bigserial that switches, future-dated rows, a clock step back: density and size before and after"

    def contenders(self, known: Sequence[Contender], bench: Bench) -> list[Contender]:
        """Return those that a scenario is about."""
        return [each for each in known if each.name in {scenario.contender for scenario in SCENARIOS}]

    def run(self, section: Section, profile: Profile) -> None:
        for scenario in SCENARIOS:
            if scenario.contender == section.contender.name:
                self._scenario(section.with_params(scenario=scenario.name), scenario, profile.index_rows)

    def _scenario(self, section: Section, scenario: Scenario, rows: int) -> None:
        old = scenario.before(section.stream(rows))
        new = scenario.after(section.stream(rows // 2), old)
        section.make_table(declared="uuid" if old.ndim == 2 else "bigint")
        section.load(old)
        self._state(section.with_params(moment="before"), rows)
        if scenario.rewrite:
            self._rewrite(section, scenario)
        section.load(new)
        self._state(section.with_params(moment="after"), rows + len(new))

    def _rewrite(self, section: Section, scenario: Scenario) -> None:
        """Give every row a new key below those to come, in the order of the heap, and a new index."""
        run = section.bench.connection.execute
        run(f"alter table {TABLE} drop constraint {INDEX}".encode())
        run(f"alter table {TABLE} rename id to old_id".encode())
        run(f"alter table {TABLE} add id bigint generated always as identity, alter old_id drop not null".encode())
        run(f"alter table {TABLE} alter id drop identity".encode())
        run(f"alter table {TABLE} add constraint {INDEX} primary key (id)".encode())

    def _state(self, section: Section, rows: int) -> None:
        section.sizes(rows)
