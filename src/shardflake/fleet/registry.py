"""The registry: one database that hands out shard ids, records who holds them, and never gives a retired one away again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from sqlalchemy.dialects.postgresql import OID

from shardflake import assets, install
from shardflake.connect import make_engine, translate_errors
from shardflake.errors import InstallationError
from shardflake.fleet.file import Shard
from shardflake.fleet.observe import Database, probe

Place = tuple[str, int | None, int, str]


@dataclass(frozen=True, slots=True)
class Entry:
    """A shard id that was handed out.

    :param logical: True for a further id that the database issues beside its own.
    :param retired_at: when it was given up; None while it is held.
    """

    shard_id: int
    name: str
    logical: bool
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
    with _registry(registry) as connection:
        rows = connection.execute(sa.text("select * from shardflake_registry.shard order by shard_id"))
        return [Entry(**row._mapping) for row in rows]


def directory() -> Path:
    """Return the Alembic environment of the registry."""
    return assets.migrations_dir() / "registry"


def install_registry(registry: str) -> None:
    """Install the registry into a database or bring it up to date; safe to repeat."""
    with install.transaction(make_engine(registry)) as connection:
        install.run_alembic(connection, command.upgrade, "head", directory())


def claim(registry: str, shard: Shard, shard_id: int | None = None, *, reuse_retired: bool = False) -> int:
    """Register a shard's id and its further ones, or hand out the lowest free one and assign it; safe to repeat.

    The ids are committed in the registry before the shard gets them: a claim that ends in between is finished by the next one.
    Shard ids for imported rows, which the file or the shard has, are registered as logical ones and reserved in the shard.

    :param shard: one in which the generator is installed.
    :param shard_id: the one to claim; by default the one that the shard has, else the file's, else the lowest free one.
    :param reuse_retired: allow a retired id, none of which may be left in any table or backup.
    :returns: the shard's id.
    :raises RegistryError: if the id is taken or retired, or the name or the database holds another.
    """
    found = probe(shard)
    if not found.installed:
        raise InstallationError(f"shardflake is not installed in {shard.name}; run: shardflake fleet upgrade")
    wanted = shard_id if shard_id is not None else found.shard_id if found.shard_id is not None else shard.shard_id
    if found.shard_id not in (None, wanted):
        raise InstallationError(f"{shard.name} is shard {found.shard_id} already, it cannot claim {wanted}")
    place = place_of(shard, found.database)
    with _registry(registry) as connection:
        given: int = connection.execute(sa.select(_claim(place, wanted, False, reuse_retired))).scalar_one()
        further = {*found.logical_shards, *found.backfill_shards, *shard.logical_shards, *shard.backfill_shards}
        for number in sorted(further - {given}):
            connection.execute(sa.select(_claim(place, number, True, reuse_retired)))
    if found.shard_id is None:
        install.assign(make_engine(shard.conninfo), given, logical_shards=shard.logical_shards)
    if missing := sorted(set(shard.backfill_shards) - set(found.backfill_shards)):
        with translate_errors(), make_engine(shard.conninfo).begin() as connection:
            connection.execute(sa.select(sa.func.shardflake.reserve_backfill_shards(sa.cast(missing, sa.ARRAY(sa.Integer)))))
    return given


def place_of(shard: Shard, database: Database | None = None) -> Place:
    """Return what the registry records of a holder: its name, and its database, which is asked unless given."""
    found = database or probe(shard).database
    return shard.name, found.system_identifier, found.oid, found.name


def claim_logical(registry: str, shard: Shard, shard_ids: Sequence[int]) -> None:
    """Register further shard ids of a database, all or none, before it issues any; safe to repeat.

    :raises RegistryError: if another holds one of them, or it is retired.
    """
    place = place_of(shard)
    with _registry(registry) as connection:
        for number in shard_ids:
            connection.execute(sa.select(_claim(place, number, True, False)))


def move(registry: str, shard_id: int, source: str, target: Place, *, rehearse: bool = False) -> None:
    """Record that a logical shard went to another database; safe to repeat, and without an entry makes one.

    :param source: name of the shard that refuses to issue its ids already.
    :param target: does not issue them yet.
    :param rehearse: True changes nothing, and raises what the move itself would.
    :raises RegistryError: if neither of the two holds it, or it is retired.
    """
    name, system_identifier, oid, database = target
    recorded = sa.func.shardflake_registry.move(
        shard_id, source, name, sa.cast(system_identifier, sa.BigInteger), sa.cast(oid, OID), database
    )
    with _registry(registry) as connection:
        connection.execute(sa.select(recorded))
        if rehearse:
            connection.rollback()


def retire(registry: str, name: str) -> list[int]:
    """Give up the shard ids that a name holds, for ever; returns them.

    :raises RegistryError: if it holds none.
    """
    with _registry(registry) as connection:
        return list(connection.execute(sa.select(sa.func.shardflake_registry.retire(name))).scalar_one())


def _claim(place: Place, shard_id: int | None, logical: bool, reuse_retired: bool) -> sa.Function[int]:
    name, system_identifier, oid, database = place
    return sa.func.shardflake_registry.claim(
        name,
        sa.cast(system_identifier, sa.BigInteger),
        sa.cast(oid, OID),
        database,
        sa.cast(shard_id, sa.Integer),
        logical,
        reuse_retired,
    )


@contextmanager
def _registry(url: str) -> Iterator[sa.Connection]:
    with translate_errors(), make_engine(url).begin() as connection:
        if connection.scalar(sa.text("select to_regclass('shardflake_registry.shard')")) is None:
            raise InstallationError("there is no registry in that database; run: shardflake fleet registry --install")
        yield connection
