"""Arrays of ids: a million random values of each layout, the same checks as one by one."""

from __future__ import annotations

import numpy as np
import pytest

from shardflake import PRESETS, SHARDFLAKE, InvalidIdError, Layout, arrays


@pytest.mark.parametrize("layout", PRESETS.values(), ids=lambda layout: layout.name)
def test_a_million_random_ids_round_trip(layout: Layout) -> None:
    ids = np.random.default_rng(1).integers(0, layout.largest, 1_000_003, dtype=np.int64, endpoint=True)
    ids[:2] = 0, layout.largest
    fields = arrays.decode(ids, layout)
    assert list(fields) == list(layout.names)
    assert np.array_equal(arrays.encode(fields, layout), ids)
    for index in (*range(100), *range(16_380, 16_390), len(ids) - 1):
        assert layout.decode(int(ids[index])) == {name: int(values[index]) for name, values in fields.items()}
    assert arrays.times(ids[:100], layout).astype(object).tolist() == [
        layout.time_of_tick(int(tick)).replace(tzinfo=None) for tick in fields["time"][:100]
    ]


@pytest.mark.parametrize("layout", PRESETS.values(), ids=lambda layout: layout.name)
@pytest.mark.parametrize("place", [0, 16_383, 16_384, 49_999])
def test_ids_that_cannot_be_are_refused_wherever_they_stand(layout: Layout, place: int) -> None:
    for bad in (-1, -(2**63), layout.largest + 1):
        if bad < 2**63:
            ids = np.zeros(50_000, dtype=np.int64)
            ids[place] = bad
            with pytest.raises(InvalidIdError, match=rf"{bad} is not an id of layout {layout.name}"):
                arrays.decode(ids, layout)


@pytest.mark.parametrize("name", SHARDFLAKE.names)
def test_fields_that_do_not_fit_are_refused(name: str) -> None:
    top = next(field.capacity for field in SHARDFLAKE.fields if field.name == name) - 1
    for bad in (-1, top + 1):
        values = {field: np.zeros(20_000, dtype=np.int64) for field in SHARDFLAKE.names}
        values[name][17_000] = bad
        with pytest.raises(InvalidIdError, match=f"{name} {bad} does not fit: it must be 0 to {top}"):
            arrays.encode(values)


def test_arrays_of_other_shapes_and_types_are_refused() -> None:
    for bad in (np.zeros(3), np.zeros(3, dtype=np.uint64), np.zeros((2, 2), dtype=np.int64), [1, 2]):
        with pytest.raises(InvalidIdError, match="give"):
            arrays.decode(bad)  # type: ignore[arg-type]
    one, two = np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64)
    with pytest.raises(InvalidIdError, match="must be the same"):
        arrays.encode({"time": one, "shard": two, "counter": one})
    with pytest.raises(InvalidIdError, match="has the fields"):
        arrays.encode({"time": one, "shard": one})
    assert len(arrays.decode(np.zeros(0, dtype=np.int64))["time"]) == 0


def test_slices_with_steps_are_read_as_they_are() -> None:
    ids = np.arange(100, dtype=np.int64)
    assert arrays.decode(ids[::3])["counter"].tolist() == list(range(0, 100, 3))
