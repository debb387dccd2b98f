"""The feed on a physical standby: it refuses to be asked there, and reads all rows by the way that the documentation shows."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from shardflake.connect import make_engine
from shardflake.feed import Feed
from shardflake.server import LocalServer
from tests.reliability.attack import attacked_server
from tests.reliability.failover import copy_from, wait_for_replay

PAGE = Path(__file__).parents[2] / "docs" / "time-ranges.md"
Pair = tuple[LocalServer, LocalServer]


@pytest.fixture(scope="module")
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """A primary with shard 5 and a table of orders, and its standby."""
    with attacked_server(request.config.getoption("--pg-bin")) as primary:
        with psycopg.connect(primary.url(), autocommit=True) as connection:
            connection.execute("create table orders (id bigint primary key default shardflake.next_id())")
        standby = LocalServer(primary.bin_dir)
        try:
            copy_from(primary, standby)
            standby.start()
            yield primary, standby
        finally:
            standby.remove()


@pytest.mark.parametrize("state", ["new", "kept"])
def test_a_standby_refuses_to_tell_the_horizon(pair: Pair, state: str) -> None:
    fence, waiting = (None, None) if state == "new" else (5 << 23, ["3/7"])
    ask = "select * from shardflake.feed_horizon(%s::bigint, %s::text[])"
    refusal = pytest.raises(psycopg.Error, match="a standby does not know the horizon")
    with psycopg.connect(pair[1].url()) as connection, refusal as refused:
        connection.execute(ask, (fence, waiting))
    assert refused.value.sqlstate == "SF040"
    assert "Ask the primary" in (refused.value.diag.message_hint or "")


def documented_wait() -> Callable[[sa.Connection, sa.Connection, Feed], tuple[int, Callable[[], bool]]]:
    """Return the snippet of the page: asked once, it gives the horizon, and whether the standby has come as far."""
    (snippet,) = re.findall(
        r"^```python\n(horizon = feed\.poll\(primary\)\n.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    ask, _, look = snippet.partition("# now and then")
    look = look.partition("\n")[2]

    def poll(primary: sa.Connection, standby: sa.Connection, feed: Feed) -> tuple[int, Callable[[], bool]]:
        names: dict[str, Any] = {"sa": sa, "primary": primary, "standby": standby, "feed": feed}
        exec(ask, names)

        def there() -> bool:
            exec(look, names)
            return bool(names["there"])

        return names["horizon"], there

    return poll


@pytest.mark.parametrize("waits", [True, False], ids=["as documented", "without waiting for replay"])
def test_a_lagging_standby_is_read_without_loss(pair: Pair, waits: bool) -> None:
    primary, standby = pair
    slow, fast, replica = (
        psycopg.connect(primary.url()),
        *(psycopg.connect(server.url(), autocommit=True) for server in (primary, standby)),
    )
    reader, source = make_engine(standby.url()).connect(), make_engine(primary.url()).connect()
    with slow, fast, replica, reader, source:
        late, early = (_insert(session) for session in (slow, fast))
        wait_for_replay(fast, replica)
        replica.execute("select pg_wal_replay_pause()")
        slow.commit()
        feed = Feed()
        horizon, there = documented_wait()(source, reader, feed)
        source.commit()
        assert late < early < horizon
        assert not there()
        reader.commit()
        found = [] if waits else _read(reader, late - 1, horizon)
        replica.execute("select pg_wal_replay_resume()")
        ends = time.monotonic() + 60  # WAL that no commit flushes waits for the background writer: up to 15 s
        while not there():
            reader.commit()
            assert time.monotonic() < ends, "the standby does not come as far"
            time.sleep(0.02)
        found += _read(reader, max([late - 1, *found]), horizon)
    assert found == ([late, early] if waits else [early]), "the reader that does not wait should lose the row that came late"


def _insert(connection: psycopg.Connection) -> int:
    row = connection.execute("insert into orders default values returning id").fetchone()
    assert row is not None
    return int(row[0])


def _read(reader: sa.Connection, above: int, below: int) -> list[int]:
    query = sa.text("select id from orders where id > :above and id < :below order by id")
    found = list(reader.scalars(query, {"above": above, "below": below}))
    reader.commit()
    return found
