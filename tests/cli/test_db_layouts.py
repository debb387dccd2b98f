"""``--layout`` of ``shardflake db``: chosen once, with the shard id."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime

import pytest
import sqlalchemy as sa

from shardflake import install
from shardflake.layout import PRESETS
from tests.cli.conftest import Run

RunOn = Callable[[sa.Engine], Run]


def drawn(engine: sa.Engine) -> int:
    """Return an id of the database."""
    with engine.connect() as connection:
        return int(connection.scalar(sa.text("select shardflake.next_id()")))


def test_upgrade_gives_the_layout_with_the_shard_id(database: sa.Engine, run_on: RunOn) -> None:
    run = run_on(database)
    assert run("db", "upgrade", "--shard-id", "31", "--layout", "javascript").stdout == (
        f"at revision {install.head()}, shard 31\n"
    )
    value = drawn(database)
    assert value < 2**53
    assert PRESETS["javascript"].decode(value)["shard"] == 31
    assert json.loads(run("db", "status", "--format", "json").stdout)["layout"] == "javascript 41/5/7"
    assert "javascript 41/5/7" in run("db", "status").stdout


@pytest.mark.parametrize("layout", PRESETS)
def test_assign_gives_every_layout(database: sa.Engine, run_on: RunOn, layout: str) -> None:
    install.upgrade(database)
    largest = PRESETS[layout].shards - 1
    run_on(database)("db", "assign", "--shard-id", str(largest), "--logical-shards", "0,3", "--layout", layout)
    fields = PRESETS[layout].decode(drawn(database))
    assert fields["shard"] == largest
    assert abs(fields["time"] - PRESETS[layout].tick_of(clock(database))) < 1000


def clock(engine: sa.Engine) -> datetime:
    """Return the server's time."""
    with engine.connect() as connection:
        now: datetime = connection.scalars(sa.text("select clock_timestamp()")).one()
        return now


def test_what_cannot_be_is_refused_and_changes_nothing(database: sa.Engine, run_on: RunOn) -> None:
    run = run_on(database)
    assert "give --shard-id as well" in run("db", "upgrade", "--layout", "twitter", code=2).stderr
    install.upgrade(database)
    for words, message in (
        (("--shard-id", "1024", "--layout", "twitter"), "1023"),
        (("--shard-id", "5", "--logical-shards", "1024", "--layout", "twitter"), "1023"),
        (("--shard-id", "5", "--layout", "flickr"), "flickr"),
    ):
        assert message in run("db", "assign", *words, code=2).stderr
    assert install.status(database).shard_id is None


def test_another_layout_later_is_refused(database: sa.Engine, run_on: RunOn) -> None:
    run = run_on(database)
    run("db", "upgrade", "--shard-id", "5", "--layout", "twitter")
    for words in (("upgrade",), ("assign",)):
        error = run("db", *words, "--shard-id", "5", "--layout", "discord", code=1).stderr
        assert "SF014" in error
        assert "twitter" in error
    run("db", "assign", "--shard-id", "5", "--layout", "twitter", "--max-lead", "2")
    assert PRESETS["twitter"].decode(drawn(database))["shard"] == 5
