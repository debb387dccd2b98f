"""The registry: one database that hands out shard ids, records who holds them, and never gives a retired one away again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from shardflake.connect import make_engine, translate_errors
from shardflake.errors import InstallationError


@dataclass(frozen=True, slots=True)
class Entry:
    """A shard id that was handed out.

    :param retired_at: when it was given up; None while it is held.
    """

    shard_id: int
    name: str
    system_identifier: int | None
    database_oid: int
    database_name: str
    claimed_at: datetime
    retired_at: datetime | None


def entries(registry: str) -> list[Entry]:
    """Return every shard id that the registry has handed out, in ascending order.

    :param registry: its database, as :func:`shardflake.connect.make_engine` takes it.
    :raises InstallationError: if the registry is not installed there.
    """
    with translate_errors(), make_engine(registry).connect() as connection:
        if connection.scalar(sa.text("select to_regclass('shardflake_registry.shard')")) is None:
            raise InstallationError("there is no registry in that database; run: shardflake fleet registry")
        rows = connection.execute(sa.text("select * from shardflake_registry.shard order by shard_id"))
        return [Entry(**row._mapping) for row in rows]
