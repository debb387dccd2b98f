"""Find an id's shard, and the engine of its database, from the id alone.

::

    shards = ShardMap.of(read(Path("shards.toml")))
    with shards.engine(order_id).begin() as connection: ...
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

import psycopg
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from shardflake.errors import InvalidIdError, ShardflakeError
from shardflake.fleet.file import MAX_SHARD_ID, Fleet, ranges
from shardflake.ids import parse_id
from shardflake.layout import SHARDFLAKE

EngineT = TypeVar("EngineT", bound=sa.Engine | AsyncEngine)

_SHIFT = SHARDFLAKE.shifts["shard"]


class ShardMap(Generic[EngineT]):
    """Leads from an id to its shard id, from there to the database that holds it, and to that database's engine.

    :param engines: by the name of the database.
    :param shards: name of the database by shard id: own, logical, and those of imported rows.
    :raises ShardflakeError: for a name without an engine, or a shard id out of range.
    """

    def __init__(self, engines: Mapping[str, EngineT], shards: Mapping[int, str]) -> None:
        for number, name in shards.items():
            if name not in engines:
                raise ShardflakeError(f"shard {number} is in {name!r}, which has no engine; the engines are {sorted(engines)}")
            if not 0 <= number <= MAX_SHARD_ID:
                raise InvalidIdError(f"shard id {number} is not between 0 and {MAX_SHARD_ID}")
        self.engines: dict[str, EngineT] = dict(engines)
        self._names = dict(shards)

    @classmethod
    def of(cls, fleet: Fleet) -> ShardMap[sa.Engine]:
        """Return the map of a fleet's file, with an engine and a pool of its own for each database; nothing connects yet.

        :raises ShardflakeError: for a shard whose id the file does not have.
        """
        return ShardMap({shard.name: _engine(shard.conninfo) for shard in fleet.shards}, _shard_ids(fleet))

    @classmethod
    def of_async(cls, fleet: Fleet) -> ShardMap[AsyncEngine]:
        """Return the same as :meth:`of` with asynchronous engines."""
        return ShardMap({shard.name: _async_engine(shard.conninfo) for shard in fleet.shards}, _shard_ids(fleet))

    def name(self, id_: int) -> str:
        """Return the name of the database that holds an id's row.

        :param id_: an id, an ``int`` of 0 to 2**63 - 1; :func:`shardflake.ids.parse_id` turns its digits into one.
        :raises InvalidIdError: for a number that is no id, or an id of a shard that the map does not have.
        """
        if type(id_) is not int or not 0 <= id_ < 1 << 63:
            id_ = parse_id(id_)
        name = self._names.get((id_ >> _SHIFT) & MAX_SHARD_ID)
        if name is None:
            known = ", ".join(ranges(sorted(self._names)))
            raise InvalidIdError(f"id {id_} is of shard {(id_ >> _SHIFT) & MAX_SHARD_ID}, the map has the shards {known}")
        return name

    def engine(self, id_: int) -> EngineT:
        """Return the engine of the database that holds an id's row; otherwise as :meth:`name`."""
        return self.engines[self.name(id_)]

    def move(self, shard_id: int, name: str) -> None:
        """Send a logical shard's ids to another database from now on, after it was moved there.

        :raises ShardflakeError: for a name without an engine.
        """
        if name not in self.engines:
            raise ShardflakeError(f"{name!r} has no engine; the engines are {sorted(self.engines)}")
        self._names[shard_id] = name

    def __iter__(self) -> Iterator[str]:
        """Give the names of the databases."""
        return iter(self.engines)

    def __len__(self) -> int:
        """Number of databases."""
        return len(self.engines)


def _shard_ids(fleet: Fleet) -> dict[int, str]:
    names: dict[int, str] = {}
    for shard in fleet.shards:
        if shard.shard_id is None:
            raise ShardflakeError(f"the file gives {shard.name!r} no shard_id; without one no id leads to it")
        names.update(dict.fromkeys(shard.shard_ids, shard.name))
    return names


def _engine(conninfo: str) -> sa.Engine:
    return sa.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(conninfo))


def _async_engine(conninfo: str) -> AsyncEngine:
    return create_async_engine("postgresql+psycopg://", async_creator=lambda: psycopg.AsyncConnection.connect(conninfo))
