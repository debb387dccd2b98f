"""Keys made beforehand, how far they are from ascending, and the index that the rules of splitting give."""

from __future__ import annotations

import uuid

import numpy as np
import pytest
from typer.testing import CliRunner

from shardflake.bench import contenders, keys, tree
from shardflake.bench.workloads import WORKLOADS
from shardflake.cli import app

COUNT = 3000


def stream(count: int = COUNT, seed: int = 1) -> keys.Stream:
    """Return what keys are made for."""
    return keys.Stream(np.random.default_rng(seed), count)


@pytest.mark.parametrize("contender", contenders.CONTENDERS, ids=lambda contender: contender.name)
def test_makers(contender: contenders.Contender) -> None:
    assert contender.keys is not None
    made = contender.keys(stream())
    assert (made == contender.keys(stream())).all()
    assert made.shape == ((COUNT,) if contender.type == "bigint" else (COUNT, contender.width))
    assert len({each.tobytes() for each in made}) == COUNT
    assert keys.descents(made) == 0 or contender.name not in ("bigserial", "shardflake", "twitter", "sonyflake")
    if contender.ordered:
        assert keys.distance(made) < COUNT
    if not contender.ordered:
        assert keys.descents(made) == pytest.approx(COUNT / 2, rel=0.1)


def test_uuids_are_what_they_say() -> None:
    for maker, version in ((keys.uuidv4, 4), (keys.uuidv7, 7), (keys.uuidv7_ms, 7)):
        first = uuid.UUID(bytes=maker(stream())[0].tobytes())
        assert (first.version, first.variant) == (version, uuid.RFC_4122)
    assert uuid.UUID(keys.uuid_text(stream())[0].tobytes().decode()).version == 4


def test_a_full_tick_passes_its_ids_on() -> None:
    made = keys.layout(counter_bits=2, node_bits=10)(stream())
    assert keys.descents(made) == 0
    _, counts = np.unique(made >> 12, return_counts=True)
    assert counts.max() == 4


def test_disorder_is_counted_from_the_newest() -> None:
    assert list(keys.behind(np.array([1, 5, 2, 4, 3, 6]))) == [0, 0, 3, 1, 2, 0]
    assert keys.descents(np.array([1, 5, 2, 4, 3, 6])) == 2
    assert keys.distance(keys.ascending(stream())) == 0
    late = keys.distance(keys.jittered(stream(50_000), 500))
    assert late == pytest.approx(500, rel=0.1)


def test_known_numbers_of_an_index() -> None:
    assert [tree.capacity(tree.item_bytes(width)) for width in (8, 16)] == [407, 291]
    assert [tree.ascending(1_000_000, width).splits for width in (8, 16)] == [2732, 3831]
    assert tree.ascending(1_000_000, 8).bytes / 1e6 == pytest.approx(22.4, abs=0.1)


@pytest.mark.parametrize("rows", [1, 407, 408, 773, 774, 20_000])
def test_the_model_agrees_with_the_closed_form(rows: int) -> None:
    assert tree.grow(range(rows), 8) == tree.ascending(rows, 8)


def test_the_model_halves_what_is_not_last() -> None:
    ascending = range(100_000, 100_774)  # the first leaf is left with 366 rows, and has room for 40 more
    assert [tree.grow([*ascending, *range(late)], 8).leaves for late in (0, 40, 41)] == [3, 3, 4]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--contender", "uuidv9"], "unknown contender uuidv9; known: bigserial, bigserial-aa"),
        (["--contender", "mine=float:random()"], "is not one of bigint, uuid, text"),
        (["--contender", "shardflake=bigint:1"], "is a contender already"),
        (["--workload", "lunch"], "unknown workload lunch; known: bulk, autocommit"),
        (["--profile", "slow"], "known: quick, standard, full"),
    ],
)
def test_usage_errors_say_what_is_known(options: list[str], told: str) -> None:
    done = CliRunner().invoke(app, ["bench", "run", *options], env={"COLUMNS": "400"})
    assert done.exit_code == 2
    assert told in " ".join(done.output.split())


def test_the_list_has_everything() -> None:
    done = CliRunner().invoke(app, ["bench", "list"])
    assert done.exit_code == 0
    for name in (*(each.name for each in contenders.CONTENDERS), *(each.name for each in WORKLOADS)):
        assert f"  {name} " in done.output
