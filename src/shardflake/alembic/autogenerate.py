"""Let autogenerate see ``next_id()`` defaults without calling them, and write migrations that need no import.

Alembic compares server defaults by executing both, which would draw two ids a column and report a difference for ever.
"""

from __future__ import annotations

import re
from typing import Any

from alembic.autogenerate import comparators, renderers
from alembic.autogenerate.api import AutogenContext
from alembic.operations.ops import ModifyTableOps
from alembic.util import DispatchPriority, PriorityDispatchResult
from sqlalchemy import Column, Table

from shardflake.alembic.operations import DropIdDefaultOp, SetIdDefaultOp
from shardflake.sqlalchemy import ShardflakeId

_NEXT_ID = re.compile(r"""^\(?"?(?:shardflake"?\.)?"?next_id"?\((?P<shard>\d*)\)\)?$""")


def render_item(type_: str, item: Any, autogen_context: AutogenContext) -> str | bool:
    """Render :class:`~shardflake.sqlalchemy.ShardflakeId` as the bigint that it is; for ``context.configure(render_item=)``.

    :returns: the text, or False for everything that is not ours, as Alembic expects.
    """
    if type_ == "type" and isinstance(item, ShardflakeId):
        return "sa.BigInteger()"
    return False


def _next_id_call(column: Column[Any], autogen_context: AutogenContext) -> str | None:
    """Return the shard argument of a column's ``next_id()`` default ('' without one), or None for any other default."""
    default: Any = getattr(column.server_default, "arg", None)
    if default is None:
        return None
    text = (
        default
        if isinstance(default, str)
        else str(default.compile(dialect=autogen_context.dialect, compile_kwargs={"literal_binds": True}))
    )
    match = _NEXT_ID.match(text.strip())
    return match["shard"] if match else None


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
            default: Any = getattr(in_database.server_default, "arg", None)
            previous = None if default is None or present is not None else str(getattr(default, "text", default))
            shard = int(wanted) if wanted else None
            modify_table_ops.ops.append(
                SetIdDefaultOp(tname, column.name, schema=schema, shard=shard, previous_default=previous)
            )
        else:
            modify_table_ops.ops.append(DropIdDefaultOp(tname, column.name, schema=schema))
    return PriorityDispatchResult.CONTINUE


@renderers.dispatch_for(SetIdDefaultOp)
def _render_set(autogen_context: AutogenContext, operation: SetIdDefaultOp) -> str:
    return _render("set_id_default", autogen_context, operation)


@renderers.dispatch_for(DropIdDefaultOp)
def _render_drop(autogen_context: AutogenContext, operation: DropIdDefaultOp) -> str:
    return _render("drop_id_default", autogen_context, operation)


def _render(name: str, autogen_context: AutogenContext, operation: SetIdDefaultOp | DropIdDefaultOp) -> str:
    autogen_context.imports.add("import shardflake.alembic  # registers the operations on ids")
    arguments = [repr(str(operation.table_name)), repr(str(operation.column_name))]
    for keyword in ("schema", "shard", "previous_default"):
        if (value := getattr(operation, keyword)) is not None:
            arguments.append(f"{keyword}={value!r}")
    return f"op.{name}({', '.join(arguments)})"
