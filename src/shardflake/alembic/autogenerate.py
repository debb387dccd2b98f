"""Let autogenerate see ``next_id()`` defaults without calling them, and write migrations that need no import.

Alembic compares server defaults by executing both, which would draw two ids a column and report a difference for ever.
"""

from __future__ import annotations

import re
from typing import Any

import sqlalchemy as sa
from alembic.autogenerate import comparators, renderers
from alembic.autogenerate.api import AutogenContext
from alembic.operations.ops import DropTableOp, ModifyTableOps, UpgradeOps
from alembic.util import DispatchPriority, PriorityDispatchResult
from sqlalchemy import Column, Table

from shardflake.alembic.operations import DIALECT, DropIdDefaultOp, SetIdDefaultOp
from shardflake.alembic.scripts import VERSION_TABLE
from shardflake.sqlalchemy import ShardflakeId

_NEXT_ID = re.compile(r"""^\(?(?P<schema>"?shardflake"?\.)?"?next_id"?\((?P<shard>\d*)\)\)?$""")
_OUR_TABLES = ("_backfill", "_flush", "_ticket", "_worker", "_worker_terms", VERSION_TABLE)
# What a name without a schema means depends on the search_path.
_SCHEMA_OF_FUNCTION = sa.text("select pronamespace::regnamespace::text from pg_proc where oid = to_regprocedure('next_id()')")
_SCHEMA_OF_TABLE = sa.text("select relnamespace::regnamespace::text from pg_class where oid = to_regclass(:name)")
# Alembic's reflection leaves out the default of a serial.
_DEFAULT = sa.text(
    "select pg_get_expr(adbin, adrelid) from pg_attribute join pg_attrdef on (adrelid, adnum) = (attrelid, attnum) "
    "where attrelid = to_regclass(:name) and attname = :column"
)


def render_item(type_: str, item: Any, autogen_context: AutogenContext) -> str | bool:
    """Render :class:`~shardflake.sqlalchemy.ShardflakeId` as the bigint that it is; for ``context.configure(render_item=)``.

    :returns: the text, or False for everything that is not ours, as Alembic expects.
    """
    if type_ == "type" and isinstance(item, ShardflakeId):
        return "sa.BigInteger()"
    return False


def _default_sql(column: Column[Any]) -> str | None:
    """Return the SQL of a column's default, or None."""
    default: Any = getattr(column.server_default, "arg", None)
    if default is None or isinstance(default, sa.TextClause):
        return None if default is None else default.text.strip()
    if isinstance(default, str):
        default = sa.literal(default)
    return str(default.compile(dialect=DIALECT, compile_kwargs={"literal_binds": True}))


def _next_id_call(column: Column[Any], autogen_context: AutogenContext) -> str | None:
    """Return the shard argument of a column's ``next_id()`` default ('' without one), or None for any other default."""
    match = _NEXT_ID.match(_default_sql(column) or "")
    if match is None or (not match["schema"] and _scalar(autogen_context, _SCHEMA_OF_FUNCTION) != "shardflake"):
        return None
    return match["shard"]


def _scalar(autogen_context: AutogenContext, query: sa.TextClause, **parameters: str) -> Any:
    assert autogen_context.connection is not None  # autogenerate compares with a database  # noqa: S101
    return autogen_context.connection.scalar(query, parameters)


@comparators.dispatch_for("schema", priority=DispatchPriority.LAST)
def _leave_our_tables_alone(
    autogen_context: AutogenContext, upgrade_ops: UpgradeOps, schemas: set[str | None]
) -> PriorityDispatchResult:
    """Take back the DROP TABLEs of what this package made itself, which no application's models contain."""

    def is_ours(operation: Any) -> bool:
        if not isinstance(operation, DropTableOp):
            return False
        if operation.schema is None and operation.table_name in _OUR_TABLES:
            return bool(_scalar(autogen_context, _SCHEMA_OF_TABLE, name=operation.table_name) == "shardflake")
        return operation.schema == "shardflake"

    upgrade_ops.ops[:] = [operation for operation in upgrade_ops.ops if not is_ours(operation)]
    return PriorityDispatchResult.CONTINUE


def _shard(argument: str | None) -> int | None:
    return int(argument) if argument else None


@comparators.dispatch_for("column", subgroup="server_default", priority=DispatchPriority.FIRST)
def _leave_id_defaults_alone(
    autogen_context: AutogenContext,
    alter_column_op: Any,
    schema: str | None,
    tname: str,
    cname: str,
    conn_col: Column[Any],
    metadata_col: Column[Any],
) -> PriorityDispatchResult:
    for column in (conn_col, metadata_col):
        if _next_id_call(column, autogen_context) is not None:
            return PriorityDispatchResult.STOP
    return PriorityDispatchResult.CONTINUE


@comparators.dispatch_for("table")
def _compare_id_defaults(
    autogen_context: AutogenContext,
    modify_table_ops: ModifyTableOps,
    schema: str | None,
    tname: str,
    conn_table: Table | None,
    metadata_table: Table | None,
) -> PriorityDispatchResult:
    if conn_table is None or metadata_table is None:
        return PriorityDispatchResult.CONTINUE  # a new or dropped table carries its defaults itself
    for column in metadata_table.columns:
        in_database = conn_table.columns.get(column.name)
        if in_database is None:
            continue
        wanted = _next_id_call(column, autogen_context)
        present = _next_id_call(in_database, autogen_context)
        if wanted == present:
            continue
        if wanted is not None:
            name = DIALECT.identifier_preparer.format_table(sa.table(tname, schema=schema))
            previous = _scalar(autogen_context, _DEFAULT, name=name, column=column.name)
            modify_table_ops.ops.append(
                SetIdDefaultOp(tname, column.name, schema=schema, shard=_shard(wanted), previous_default=previous)
            )
        else:
            default = _default_sql(column)
            modify_table_ops.ops.append(
                DropIdDefaultOp(tname, column.name, schema=schema, shard=_shard(present), previous_default=default)
            )
    return PriorityDispatchResult.CONTINUE


@renderers.dispatch_for(SetIdDefaultOp)
def _render_set(autogen_context: AutogenContext, operation: SetIdDefaultOp) -> str:
    return _render("set_id_default", autogen_context, operation)


@renderers.dispatch_for(DropIdDefaultOp)
def _render_drop(autogen_context: AutogenContext, operation: DropIdDefaultOp) -> str:
    return _render("drop_id_default", autogen_context, operation)


def _render(name: str, autogen_context: AutogenContext, operation: SetIdDefaultOp | DropIdDefaultOp) -> str:
    autogen_context.imports.add("import shardflake.alembic  # noqa: F401")
    arguments = [repr(str(operation.table_name)), repr(str(operation.column_name))]
    for keyword in ("schema", "shard", "previous_default"):
        if (value := getattr(operation, keyword)) is not None:
            arguments.append(f"{keyword}={value!r}")
    return f"op.{name}({', '.join(arguments)})"
