"""A move and the registry: it names whoever issues ids of the shard, wherever the move is interrupted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import psycopg
import pytest
import sqlalchemy as sa

from shardflake.errors import InstallationError, RegistryError
from shardflake.fleet import logical
from shardflake.fleet import registry as registered
from shardflake.fleet.file import Shard
from shardflake.fleet.logical import move
from shardflake.fleet.registry import claim, entries, install_registry, retire
from tests.cli.conftest import Run
from tests.conftest import dsn
from tests.fleet.conftest import owned


@pytest.fixture
def registry(make_database: Callable[..., sa.Engine], pair: tuple[Shard, Shard]) -> str:
    """A registry that knows the two shards and that the source holds 77."""
    url = dsn(make_database())
    install_registry(url)
    for shard in pair:
        claim(url, shard)
    return url


def holder(registry: str) -> str:
    (entry,) = [entry for entry in entries(registry) if entry.shard_id == 77]
    return entry.name


def is_recorded(registry: str, pair: tuple[Shard, Shard]) -> bool:
    """Say whether nobody issues ids of the shard but the one that the registry names."""
    return {shard.name for shard in pair if 77 in owned(shard)} <= {holder(registry)}


STEPS: dict[str, tuple[ModuleType, str, int, str | None, str]] = {
    "rehearsed": (registered, "move", 1, "source", "source"),
    "within the refusal": (logical, "_rename", 1, "source", "source"),
    "the source refuses": (logical, "_wait_for_older_transactions", 1, None, "source"),
    "copied": (logical, "_copy", 1, None, "source"),
    "recorded": (registered, "move", 2, None, "target"),
    "the target begins": (logical, "_hand_over", 1, "target", "target"),
}
"""A move ended after the first or second call of a function; who issues ids then, and whom the registry names."""


def interrupted(act: Callable[[], object], step: str, patch: pytest.MonkeyPatch) -> None:
    """Do something that is ended after a step."""
    module, name, number, *_ = STEPS[step]
    function: Callable[..., object] = getattr(module, name)
    calls: list[str] = []

    def ended(*arguments: object, **options: object) -> object:
        result = function(*arguments, **options)
        calls.append(name)
        if len(calls) == number:
            raise KeyboardInterrupt
        return result

    with patch.context() as inner:
        inner.setattr(module, name, ended)
        with pytest.raises(KeyboardInterrupt):
            act()


@pytest.mark.parametrize(
    ("step", "schema"),
    [(step, "shard_77") for step in STEPS] + [(step, None) for step in STEPS if STEPS[step][1] not in ("_rename", "_copy")],
)
def test_a_move_that_is_interrupted_after_any_step_is_finished_by_the_next_one(
    pair: tuple[Shard, Shard], registry: str, step: str, schema: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = pair
    with psycopg.connect(source.conninfo, autocommit=True) as connection:
        connection.execute("insert into shard_77.orders (n) select generate_series(1, 100)")
    interrupted(lambda: move(*pair, 77, schema=schema, registry=registry), step, monkeypatch)
    *_, issuer, named = STEPS[step]
    assert [shard.name for shard in pair if 77 in owned(shard)] == [issuer] * (issuer is not None)
    assert holder(registry) == named
    assert is_recorded(registry, pair)
    move(*pair, 77, schema=schema, resume=schema is None, registry=registry)
    assert (owned(source), owned(target), holder(registry)) == ([1], [2, 77], "target")
    with psycopg.connect(target.conninfo) as connection:
        assert connection.execute("select count(*) from shard_77.orders").fetchone() == (100 if schema else 0,)
    with pytest.raises(InstallationError, match="does not issue"):
        move(*pair, 77, schema=schema, registry=registry)


def test_recorded_at_any_other_time_somebody_would_issue_ids_without_a_record(
    pair: tuple[Shard, Shard], registry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = registered.move
    with monkeypatch.context() as patch:  # first
        patch.setattr(registered, "move", lambda *arguments, rehearse=False: record(*arguments))
        interrupted(lambda: move(*pair, 77, registry=registry), "rehearsed", monkeypatch)
        assert not is_recorded(registry, pair)
        record(registry, 77, "target", registered.place_of(pair[0]))
        patch.setattr(registered, "move", lambda *arguments, **options: None)  # last
        interrupted(lambda: move(*pair, 77, registry=registry), "the target begins", monkeypatch)
        assert not is_recorded(registry, pair)
    move(*pair, 77, resume=True, registry=registry)  # and the same call mends what such a move, or one by hand, has left
    assert is_recorded(registry, pair)


def test_what_the_registry_refuses_changes_nothing(pair: tuple[Shard, Shard], registry: str) -> None:
    with psycopg.connect(registry, autocommit=True) as connection:
        connection.execute("update shardflake_registry.shard set name = 'other' where shard_id = 77")
        with pytest.raises(RegistryError, match="held by other as a logical shard, it cannot go from source to target"):
            move(*pair, 77, schema="shard_77", registry=registry)
        connection.execute("update shardflake_registry.shard set name = 'source' where shard_id = 77")
        retire(registry, "source")
        with pytest.raises(RegistryError, match="shard id 77 was retired on"):
            move(*pair, 77, schema="shard_77", registry=registry)
        connection.execute("update shardflake_registry.shard set retired_at = null, logical = false where shard_id = 77")
        with pytest.raises(RegistryError, match="held by source as its own"):
            move(*pair, 77, schema="shard_77", registry=registry)
        with pytest.raises(InstallationError, match="no registry in that database"):
            move(*pair, 77, schema="shard_77", registry=pair[0].conninfo)
        assert 77 in owned(pair[0])
        connection.execute("delete from shardflake_registry.shard where shard_id = 77")
    move(*pair, 77, registry=registry)
    assert (holder(registry), owned(pair[1])) == ("target", [2, 77])


def test_check_finds_nothing_after_a_move_and_names_one_that_was_interrupted(
    pair: tuple[Shard, Shard], registry: str, run_fleet: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(source: str, target: str) -> None:
        lines = [f"registry = {registry!r}"]
        for number, (shard, logical_shards) in enumerate(zip(pair, (source, target), strict=True), 1):
            lines += ["[[shard]]", f"name = '{shard.name}'", f"url = {shard.conninfo!r}", f"shard_id = {number}"]
            lines += [f"logical_shards = [{logical_shards}]"] if logical_shards else []
        (tmp_path / "shards.toml").write_text("\n".join(lines))

    write("", "")
    assert run_fleet("check").stdout == "2 shards, no findings\n"
    run_fleet("create-logical", "78-80", "--on", "source")
    assert run_fleet("check").stdout == "2 shards, no findings\n"
    interrupted(lambda: move(*pair, 77, registry=registry), "recorded", monkeypatch)
    found = run_fleet("check").stdout
    assert "target: registry (notice): holds shard id 77 there, but does not issue it" in found
    run_fleet("move-logical", "77", "--from", "source", "--to", "target", "--resume")
    run_fleet("move-logical", "78", "--from", "source", "--to", "target")
    assert run_fleet("check").stdout == "2 shards, no findings\n"
    assert "held by target" in run_fleet("create-logical", "8000,77", "--on", "source", code=1).stderr
    assert 8000 not in owned(pair[0])
    write("'79-80'", "77, 78")
    assert run_fleet("check").stdout == "2 shards, no findings\n"
    write("", "")
    with psycopg.connect(pair[1].conninfo, autocommit=True) as connection:
        connection.execute("select shardflake.add_logical_shards('{81, 82}')")
    expected = "target: registry: shard ids 81-82: not in the registry; run: shardflake fleet claim target"
    assert expected in run_fleet("check", code=1).stdout.replace("\n", " ")
