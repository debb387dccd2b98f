"""Autogenerate sees next_id() defaults, writes them, is then content, and never calls the generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.migration import MigrationContext

import shardflake.alembic
from shardflake import install
from shardflake.sqlalchemy import ShardflakeId, id_column, next_id
from tests.migrations.conftest import Application, as_session

MakeApplication = Callable[[sa.Engine, sa.MetaData], Application]
SERIAL = "nextval('orders_id_seq'::regclass)"


def models(*, shard: int | None = None) -> sa.MetaData:
    """Return what an application with ids from the generator has."""
    metadata = sa.MetaData()
    sa.Table("customers", metadata, id_column(), sa.Column("name", sa.Text))
    sa.Table("orders", metadata, id_column(shard=shard), sa.Column("customer_id", sa.ForeignKey("customers.id")))
    sa.Table("lines", metadata, sa.Column("order_id", sa.ForeignKey("orders.id"), primary_key=True), id_column("nr"))
    sa.Table(
        "plain", metadata, sa.Column("id", sa.BigInteger, primary_key=True), sa.Column("n", sa.Integer, server_default="7")
    )
    return metadata


def window(engine: sa.Engine) -> tuple[int, bool]:
    """Return the state of the sequence that every draw moves."""
    with engine.connect() as connection:
        row = connection.execute(sa.text("select last_value, is_called from shardflake._window")).one()
    return row.last_value, row.is_called


def body(script: str, function: str) -> str:
    """Return the statements of a function of a migration."""
    return script.split(f"def {function}() -> None:")[1].split("\n\n\n")[0]


def test_a_new_table_is_rendered_so_that_it_runs_without_an_import(shard: sa.Engine, make_application: MakeApplication) -> None:
    application = make_application(shard, models())
    script = application.autogenerate("a1")
    assert script.count("sa.text('shardflake.next_id()')") == 3
    assert "ShardflakeId" not in script
    assert "import shardflake" not in script
    assert "sa.Column('customer_id', sa.BigInteger()" in script
    application.upgrade()
    with shard.begin() as connection:
        customer = connection.scalars(sa.text("insert into customers default values returning id")).one()
    assert shardflake.decode(customer).shard == 5
    application.check()


def test_a_model_that_forgets_the_default_does_not_become_bigserial_in_its_migration(
    shard: sa.Engine, make_application: MakeApplication
) -> None:
    metadata = sa.MetaData()
    sa.Table("forgetful", metadata, sa.Column("id", ShardflakeId(), primary_key=True))
    application = make_application(shard, metadata)
    assert "sa.Column('id', sa.BigInteger(), autoincrement=False, nullable=False)" in application.autogenerate("a1")
    application.upgrade()
    assert sa.inspect(shard).get_columns("forgetful")[0]["default"] is None


@pytest.mark.parametrize(
    ("search_path", "include_schemas"),
    [
        ("public", False),
        ("public", True),
        ("shardflake,public", False),
        ("public,shardflake", False),
        ("public,shardflake", True),
    ],
)
def test_autogenerate_after_the_upgrade_is_empty_and_draws_no_id(
    shard: sa.Engine, make_application: MakeApplication, search_path: str, include_schemas: bool
) -> None:
    metadata = models()
    metadata.create_all(shard)
    with shard.begin() as connection:
        connection.execute(sa.text("insert into customers select from generate_series(1, 3)"))
    application = make_application(as_session(shard, search_path=search_path), metadata)
    application.options["include_schemas"] = include_schemas
    before = window(shard)
    script = application.autogenerate("a1")
    assert window(shard) == before
    assert "op." not in script
    with shard.begin() as connection:
        connection.execute(sa.text("insert into customers default values"))
    assert window(shard) != before  # the check sees a draw


def test_the_comparison_that_ours_replaces_draws_ids_and_reports_a_difference(shard: sa.Engine) -> None:
    metadata = models()
    metadata.create_all(shard)
    before = window(shard)
    with shard.connect() as connection:
        implementation = MigrationContext.configure(connection, opts={"compare_server_default": True}).impl
        in_database = sa.Table("customers", sa.MetaData(), autoload_with=connection).c.id
        compare: Any = implementation.compare_server_default
        assert compare(in_database, metadata.tables["customers"].c.id, "shardflake.next_id()", "(shardflake.next_id())")
    assert window(shard) != before


@pytest.mark.parametrize(
    ("create", "call", "previous"),
    [
        ("id bigserial primary key", "op.set_id_default('orders', 'id', previous_default={!r})", SERIAL),
        ("id bigint primary key", "op.set_id_default('orders', 'id')", None),
        ("id bigint primary key default 7", "op.set_id_default('orders', 'id', previous_default={!r})", "'7'::bigint"),
        ("id bigint generated always as identity primary key", "op.set_id_default('orders', 'id')", None),
    ],
)
def test_a_model_that_takes_to_the_generator(
    shard: sa.Engine, make_application: MakeApplication, create: str, call: str, previous: str | None
) -> None:
    with shard.begin() as connection:
        connection.execute(sa.text(f"create table orders ({create})"))
        before = sa.inspect(connection).get_columns("orders")[0]["default"]
    metadata = sa.MetaData()
    sa.Table("orders", metadata, id_column())
    application = make_application(shard, metadata)
    drawn = window(shard)
    script = application.autogenerate("a1")
    assert window(shard) == drawn
    assert call.format(before) in body(script, "upgrade")
    assert f"op.drop_id_default('orders', 'id'{'' if before is None else f', previous_default={before!r}'})" in body(
        script, "downgrade"
    )
    assert script.count("op.") == 2
    application.upgrade()
    assert sa.inspect(shard).get_columns("orders")[0]["default"] == "shardflake.next_id()"
    application.check()
    application.downgrade("base")
    assert sa.inspect(shard).get_columns("orders")[0]["default"] == before
    assert (previous is None) == (before is None)


def test_a_narrow_column_is_widened_first(shard: sa.Engine, make_application: MakeApplication) -> None:
    with shard.begin() as connection:
        connection.execute(sa.text("create table orders (id serial primary key)"))
        connection.execute(sa.text("create table lines (order_id integer references orders)"))
    metadata = sa.MetaData()
    sa.Table("orders", metadata, id_column())
    sa.Table("lines", metadata, sa.Column("order_id", sa.ForeignKey("orders.id")))
    application = make_application(shard, metadata)
    upgrade = body(application.autogenerate("a1"), "upgrade")
    assert upgrade.count("type_=sa.BigInteger()") == 2
    assert upgrade.index("type_=sa.BigInteger()") < upgrade.index("op.set_id_default('orders', 'id'")


def test_a_model_that_leaves_the_generator(shard: sa.Engine, make_application: MakeApplication) -> None:
    with shard.begin() as connection:
        connection.execute(sa.text("create table orders (id bigint primary key default shardflake.next_id())"))
        connection.execute(sa.text("create table lines (id bigint primary key default shardflake.next_id(5))"))
    metadata = sa.MetaData()
    sa.Table("orders", metadata, sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False))
    sa.Table("lines", metadata, sa.Column("id", sa.BigInteger, primary_key=True, server_default=sa.text("-1")))
    application = make_application(shard, metadata)
    script = application.autogenerate("a1")
    assert "op.drop_id_default('orders', 'id')" in body(script, "upgrade")
    assert "op.drop_id_default('lines', 'id', shard=5, previous_default='-1')" in body(script, "upgrade")
    assert "op.set_id_default('lines', 'id', shard=5, previous_default='-1')" in body(script, "downgrade")
    assert "import shardflake.alembic" in script
    application.upgrade()
    assert sa.inspect(shard).get_columns("orders")[0]["default"] is None
    application.check()
    application.downgrade("base")
    assert sa.inspect(shard).get_columns("orders")[0]["default"] == "shardflake.next_id()"
    assert sa.inspect(shard).get_columns("lines")[0]["default"] == "shardflake.next_id(5)"


def test_another_logical_shard_is_a_difference(shard: sa.Engine, make_application: MakeApplication) -> None:
    install.assign(shard, 5, logical_shards=[6])
    models().create_all(shard)
    application = make_application(shard, models(shard=6))
    script = application.autogenerate("a1")
    assert "op.set_id_default('orders', 'id', shard=6, previous_default='shardflake.next_id()')" in body(script, "upgrade")
    application.upgrade()
    application.check()
    application.downgrade("base")
    assert sa.inspect(shard).get_columns("orders")[0]["default"] == "shardflake.next_id()"


def test_a_function_of_the_same_name_elsewhere_is_not_ours(shard: sa.Engine, make_application: MakeApplication) -> None:
    with shard.begin() as connection:
        connection.execute(sa.text("create function public.next_id() returns bigint language sql volatile return 1"))
        connection.execute(sa.text("create table orders (id bigint primary key default public.next_id())"))
    metadata = sa.MetaData()
    sa.Table("orders", metadata, id_column())
    script = make_application(shard, metadata).autogenerate("a1")
    assert "op.set_id_default('orders', 'id', previous_default='next_id()')" in body(script, "upgrade")


def test_a_column_added_to_a_table_carries_its_default(shard: sa.Engine, make_application: MakeApplication) -> None:
    with shard.begin() as connection:
        connection.execute(sa.text("create table orders (note text)"))
        connection.execute(sa.text("insert into orders select 'x' from generate_series(1, 10)"))
    metadata = sa.MetaData()
    sa.Table("orders", metadata, sa.Column("note", sa.Text), id_column(primary_key=False, nullable=False))
    application = make_application(shard, metadata)
    assert "server_default=sa.text('shardflake.next_id()')" in body(application.autogenerate("a1"), "upgrade")
    application.upgrade()
    with shard.connect() as connection:
        assert connection.scalar(sa.text("select count(distinct id) from orders")) == 10
    application.check()


def test_names_that_need_quoting_are_rendered_and_run(shard: sa.Engine, make_application: MakeApplication) -> None:
    with shard.begin() as connection:
        connection.execute(sa.text('create schema "My Shop"'))
        connection.exec_driver_sql('create table "My Shop"."Order Items 100%%" ("Item Id" bigserial primary key)')
    metadata = sa.MetaData()
    sa.Table("Order Items 100%", metadata, id_column("Item Id"), schema="My Shop")
    application = make_application(shard, metadata)
    application.options["include_schemas"] = True
    upgrade = body(application.autogenerate("a1"), "upgrade")
    assert "op.set_id_default('Order Items 100%', 'Item Id', schema='My Shop', previous_default=" in upgrade
    application.upgrade()
    application.check()
    application.downgrade("base")
    default = sa.inspect(shard).get_columns("Order Items 100%", schema="My Shop")[0]["default"]
    assert default == 'nextval(\'"My Shop"."Order Items 100%_Item Id_seq"\'::regclass)'


@pytest.mark.parametrize(
    "default",
    [next_id(), sa.text("shardflake.next_id()"), sa.text('"shardflake"."next_id"()'), sa.text("(shardflake.next_id())")],
)
def test_the_default_may_be_written_in_any_way(
    shard: sa.Engine, make_application: MakeApplication, default: sa.Function[int] | sa.TextClause
) -> None:
    metadata = sa.MetaData()
    sa.Table("orders", metadata, sa.Column("id", ShardflakeId(), primary_key=True, server_default=default))
    with shard.begin() as connection:
        connection.execute(sa.text("create table orders (id bigint primary key default shardflake.next_id())"))
    make_application(shard, metadata).check()


def test_render_item_leaves_other_types_alone() -> None:
    assert shardflake.alembic.render_item("type", sa.Integer(), None) is False  # type: ignore[arg-type]
    assert shardflake.alembic.render_item("server_default", ShardflakeId(), None) is False  # type: ignore[arg-type]
