"""Install Instagram's published id function, which repeats ids: the control that every uniqueness check must catch."""

from __future__ import annotations

from importlib.resources import files

import psycopg
from psycopg import sql


def install(connection: psycopg.Connection, shard_id: int) -> None:
    """Create the schema ``instagram`` with ``instagram.next_id()`` in a database.

    :param connection: to the database, as a role that may create schemas.
    :param shard_id: 0 to 8191, part of every id.
    """
    with connection.transaction():
        connection.execute(files(__package__).joinpath("instagram.sql").read_bytes())
        connection.execute(
            sql.SQL(
                "create or replace function instagram.shard_id() returns integer language sql immutable parallel safe return {}"
            ).format(sql.Literal(shard_id))
        )
