"""``ShardflakeId(layout=…)`` on shards of that layout: bounds, results, DDL, migrations."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import alembic.autogenerate
import pytest
import sqlalchemy as sa
from alembic.autogenerate import render_python_code
from alembic.migration import MigrationContext
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable

from shardflake import InvalidIdError, install
from shardflake.alembic import render_item
from shardflake.layout import PRESETS, SHARDFLAKE, SONYFLAKE, TWITTER, Layout
from shardflake.sqlalchemy import ShardflakeId, id_column, next_id

OTHERS = [layout for layout in PRESETS.values() if layout is not SHARDFLAKE]
DAY = timedelta(days=1)


@pytest.fixture
def make_events(make_database: Callable[..., sa.Engine], installed_template: str) -> Callable[[Layout], tuple[Any, sa.Table]]:
    """Makes a shard 5 of a layout with a table of events."""

    def make(layout: Layout) -> tuple[sa.Engine, sa.Table]:
        engine = make_database(template=installed_template)
        install.assign(engine, 5, logical_shards=[9], layout=layout.name)
        table = sa.Table("events", sa.MetaData(), id_column(layout=layout), sa.Column("note", sa.Text))
        table.create(engine)
        return engine, table

    return make


@pytest.mark.parametrize("layout", OTHERS, ids=lambda layout: layout.name)
def test_bounds_parts_and_results_follow_the_layout(
    make_events: Callable[[Layout], tuple[sa.Engine, sa.Table]], layout: Layout
) -> None:
    engine, table = make_events(layout)
    with engine.begin() as connection:
        now = connection.scalars(sa.select(sa.func.clock_timestamp())).one()
        made = connection.execute(sa.insert(table).returning(table.c.id), [{"note": str(n)} for n in range(20)]).scalars().all()
        assert [type(value) for value in made] == [int] * 20
        for offset in (-DAY, DAY):
            old = layout.encode(time=layout.tick_of(now + offset), shard=5, counter=0)
            connection.execute(sa.insert(table), {"id": str(old), "note": "another day"})
        for start, end in ((now - DAY / 2, now + DAY / 2), (sa.literal(now - DAY / 2), sa.literal(now + DAY / 2))):
            found = connection.scalars(sa.select(table.c.id).where(table.c.id.between_times(start, end))).all()
            assert sorted(found) == sorted(made)
        parts = connection.execute(
            sa.select(table.c.id, table.c.id.timestamp, table.c.id.shard, table.c.id.counter).where(table.c.id == made[0])
        ).one()
        fields = layout.decode(made[0])
        assert tuple(parts) == (made[0], layout.time_of_tick(fields["time"]), 5, fields["counter"])
        # The same question with bounds of the default layout, as a column without layout= asks it, finds other rows.
        plain = sa.table("events", sa.column("id", ShardflakeId()))
        found = connection.scalars(sa.select(plain.c.id).where(plain.c.id.between_times(now - DAY / 2, now + DAY / 2))).all()
        assert sorted(found) != sorted(made)


def test_times_are_checked_against_the_layout() -> None:
    column: sa.Column[int] = sa.Column("id", ShardflakeId(layout=TWITTER))
    assert column.between_times(datetime(2011, 1, 1, tzinfo=UTC), datetime(2012, 1, 1, tzinfo=UTC)) is not None
    with pytest.raises(InvalidIdError, match="no id of layout twitter can hold the time 2010-01-01"):
        column.between_times(datetime(2010, 1, 1, tzinfo=UTC), datetime(2012, 1, 1, tzinfo=UTC))


def test_a_default_may_name_any_shard_that_the_layout_holds() -> None:
    assert "next_id(65535)" in str(CreateTable(sa.Table("t", sa.MetaData(), id_column(layout=SONYFLAKE, shard=65535))))
    with pytest.raises(ValueError, match="shard 65536 is not 0 to 65535"):
        next_id(65536, layout=SONYFLAKE)
    with pytest.raises(ValueError, match="shard 9000 is not 0 to 8191"):
        next_id(9000)


def test_statements_of_two_layouts_are_not_taken_for_each_other() -> None:
    start, end = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    bounds, keys = [], []
    for layout in (SHARDFLAKE, TWITTER):
        column = sa.column("id", ShardflakeId(layout))
        statement = sa.select(column).where(column.between_times(start, end))
        keys.append(statement._generate_cache_key())
        bounds.append(tuple(statement.compile(dialect=postgresql.dialect()).params.values()))  # type: ignore[no-untyped-call]
        assert bounds[-1] == layout.time_range(start, end)
    assert keys[0] != keys[1]


def test_the_type_is_boring_with_a_layout_too(make_events: Callable[[Layout], tuple[sa.Engine, sa.Table]]) -> None:
    kind = ShardflakeId(layout=TWITTER)
    assert pickle.loads(pickle.dumps(kind)).layout == kind.copy().layout == TWITTER
    assert render_item("type", kind, None) == "sa.BigInteger()"  # type: ignore[arg-type]
    engine, table = make_events(TWITTER)
    create = str(CreateTable(table).compile(engine))
    assert "id BIGINT DEFAULT shardflake.next_id() NOT NULL" in create
    options = {"compare_type": True, "compare_server_default": True, "render_item": render_item}
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={**options, "target_metadata": table.metadata})
        assert alembic.autogenerate.produce_migrations(context, table.metadata).upgrade_ops.is_empty()  # type: ignore[union-attr]
        table.drop(engine)
        script = alembic.autogenerate.produce_migrations(context, table.metadata).upgrade_ops
        assert script is not None
        text = render_python_code(script, render_item=render_item)  # type: ignore[arg-type]
    assert (
        "sa.Column('id', sa.BigInteger(), server_default=sa.text('shardflake.next_id()'), autoincrement=False, nullable=False)"
        in text
    )
