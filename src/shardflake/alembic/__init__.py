"""Alembic operations and autogenerate support for applications with a migration history of their own.

Importing this module registers ``op.install_shardflake``, ``op.uninstall_shardflake``, ``op.set_id_default``,
``op.drop_id_default`` and ``op.create_partitions``, and the comparison that lets autogenerate see ``next_id()`` defaults.
In ``env.py``::

    import shardflake.alembic

    context.configure(..., render_item=shardflake.alembic.render_item)
"""

from shardflake.alembic import autogenerate as _autogenerate  # noqa: F401  (registers the comparison)
from shardflake.alembic.autogenerate import render_item
from shardflake.alembic.operations import (
    DropIdDefaultOp,
    InstallShardflakeOp,
    SetIdDefaultOp,
    UninstallShardflakeOp,
)
from shardflake.alembic.partitions import CreatePartitionsOp
from shardflake.alembic.scripts import execute_pinned

__all__ = [
    "CreatePartitionsOp",
    "DropIdDefaultOp",
    "InstallShardflakeOp",
    "SetIdDefaultOp",
    "UninstallShardflakeOp",
    "execute_pinned",
    "render_item",
]
