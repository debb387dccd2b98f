"""Operations for an application's own migrations: ``op.install_shardflake()``, ``op.set_id_default()`` and their reverses."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic.operations import MigrateOperation, Operations
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import REGCLASS

from shardflake import assets
from shardflake.alembic.scripts import VERSION_TABLE, execute_statement, execute_text, released

DIALECT = postgresql.dialect(paramstyle="named")  # type: ignore[no-untyped-call]  # the others double every %

_REVISION = sa.table(VERSION_TABLE, sa.column("version_num", sa.String), schema="shardflake")


@Operations.register_operation("install_shardflake")
class InstallShardflakeOp(MigrateOperation):
    """Install the generator into the database, as a released version has it, or raise it from an older version."""

    def __init__(self, version: int, from_version: int = 0) -> None:
        self.version = version
        self.from_version = from_version

    @classmethod
    def install_shardflake(cls, operations: Operations, *, version: int, from_version: int = 0) -> None:
        """Install schema ``shardflake``; give each shard its id afterwards, with ``shardflake db assign``.

        :param version: the released version to install, so that the migration means the same for ever.
        :param from_version: the version that an earlier migration installed; 0 if none did.
        :raises InstallationError: for a version that this package does not hold, or one that is not above the other.
        """
        operations.invoke(cls(version, from_version))

    def reverse(self) -> UninstallShardflakeOp:
        return UninstallShardflakeOp(self.version, self.from_version)


@Operations.register_operation("uninstall_shardflake")
class UninstallShardflakeOp(MigrateOperation):
    """Remove the generator, refusing while a default, view or function outside its schema uses it, or go back a version."""

    def __init__(self, version: int, to_version: int = 0) -> None:
        self.version = version
        self.to_version = to_version

    @classmethod
    def uninstall_shardflake(cls, operations: Operations, *, version: int, to_version: int = 0) -> None:
        """Drop schema ``shardflake``; raises SF013 on the server, listing the columns, while it is in use.

        :param version: the version that is installed.
        :param to_version: the older version to go back to; 0 removes everything.
        :raises InstallationError: for a version that this package does not hold, or one that is not above the other.
        """
        operations.invoke(cls(version, to_version))

    def reverse(self) -> InstallShardflakeOp:
        return InstallShardflakeOp(self.version, self.to_version)


class _IdDefaultOp(MigrateOperation):
    """The column whose default changes, and what its default is otherwise."""

    def __init__(
        self,
        table_name: str,
        column_name: str,
        *,
        schema: str | None = None,
        shard: int | None = None,
        previous_default: str | None = None,
    ) -> None:
        self.table_name = table_name
        self.column_name = column_name
        self.schema = schema
        self.shard = shard
        self.previous_default = previous_default


@Operations.register_operation("set_id_default")
class SetIdDefaultOp(_IdDefaultOp):
    """Make ``next_id()`` the default of a column, with every precondition checked on the server."""

    @classmethod
    def set_id_default(
        cls,
        operations: Operations,
        table_name: str,
        column_name: str,
        *,
        schema: str | None = None,
        shard: int | None = None,
        previous_default: str | None = None,
    ) -> None:
        """Call ``shardflake.set_id_default()``.

        :param table_name: the table, unquoted.
        :param column_name: its bigint column, unquoted.
        :param schema: the table's schema; without it, the search path decides.
        :param shard: a logical shard to draw ids for; without it, the database's own.
        :param previous_default: SQL of the default so far, for the way back.
        """
        operations.invoke(cls(table_name, column_name, schema=schema, shard=shard, previous_default=previous_default))

    def reverse(self) -> DropIdDefaultOp:
        return DropIdDefaultOp(**vars(self))

    def to_diff_tuple(self) -> tuple[Any, ...]:
        return ("set_id_default", self.schema, self.table_name, self.column_name)


@Operations.register_operation("drop_id_default")
class DropIdDefaultOp(_IdDefaultOp):
    """Take ``next_id()`` away as the default of a column."""

    @classmethod
    def drop_id_default(
        cls,
        operations: Operations,
        table_name: str,
        column_name: str,
        *,
        schema: str | None = None,
        shard: int | None = None,
        previous_default: str | None = None,
    ) -> None:
        """Call ``shardflake.drop_id_default()``, then set back the default that was there before, if it is given.

        :param previous_default: SQL of the default to set, such as ``nextval('orders_id_seq'::regclass)``.
        """
        operations.invoke(cls(table_name, column_name, schema=schema, shard=shard, previous_default=previous_default))

    def reverse(self) -> SetIdDefaultOp:
        return SetIdDefaultOp(**vars(self))

    def to_diff_tuple(self) -> tuple[Any, ...]:
        return ("drop_id_default", self.schema, self.table_name, self.column_name)


@Operations.implementation_for(InstallShardflakeOp)
def _install(operations: Operations, operation: InstallShardflakeOp) -> None:
    for module in released(operation.version, above=operation.from_version):
        module.install(operations)
    if not operation.from_version:
        create_table, _ = assets.statements(assets.read("version.sql"))
        execute_statement(operations, create_table)
        _execute_literally(operations, sa.insert(_REVISION).values(version_num=f"{operation.version:04}"))
    else:
        _set_revision(operations, operation.version)


@Operations.implementation_for(UninstallShardflakeOp)
def _uninstall(operations: Operations, operation: UninstallShardflakeOp) -> None:
    for module in reversed(released(operation.version, above=operation.to_version)):
        module.uninstall(operations)
    if not operation.to_version:
        execute_text(operations, assets.read("drop_schema.sql"))
    else:
        _set_revision(operations, operation.to_version)


def _set_revision(operations: Operations, version: int) -> None:
    """Record the version, for ``shardflake db upgrade`` to go on from."""
    _execute_literally(operations, sa.update(_REVISION).values(version_num=f"{version:04}"))


@Operations.implementation_for(SetIdDefaultOp)
def _set_id_default(operations: Operations, operation: SetIdDefaultOp) -> None:
    shard = [] if operation.shard is None else [sa.literal(operation.shard)]
    call = sa.func.shardflake.set_id_default(_regclass(operation), _text(operation.column_name), *shard)
    _execute_literally(operations, sa.select(call))


@Operations.implementation_for(DropIdDefaultOp)
def _drop_id_default(operations: Operations, operation: DropIdDefaultOp) -> None:
    call = sa.func.shardflake.drop_id_default(_regclass(operation), _text(operation.column_name))
    _execute_literally(operations, sa.select(call))
    if operation.previous_default is not None:
        operations.alter_column(
            operation.table_name,
            operation.column_name,
            schema=operation.schema,
            server_default=sa.literal_column(operation.previous_default),
        )


def _regclass(operation: _IdDefaultOp) -> sa.Cast[Any]:
    table = DIALECT.identifier_preparer.format_table(sa.table(operation.table_name, schema=operation.schema))
    return sa.cast(_text(table), REGCLASS)


def _text(name: str) -> sa.BindParameter[str]:
    return sa.literal(name, sa.Text())  # of its own, SQLAlchemy knows no type for the quoted_name that reflection yields


def _execute_literally(operations: Operations, statement: sa.ClauseElement) -> None:
    """Run a statement with its values written out, so that the offline script needs no parameters."""
    execute_statement(operations, str(statement.compile(dialect=DIALECT, compile_kwargs={"literal_binds": True})))
