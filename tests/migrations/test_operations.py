"""op.install_shardflake() and its kin in an application's own history: online, offline, and back again."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from sqlalchemy import quoted_name
from sqlalchemy.ext.asyncio import create_async_engine

import shardflake
from shardflake import assets, install
from shardflake.connect import translate_errors
from shardflake.errors import ColumnError, InstallationError, ShardIdError
from tests.migrations.conftest import Application, Psql, as_session, catalog, objects
from tests.orm.conftest import driver_url

MakeApplication = Callable[[sa.Engine, sa.MetaData], Application]
CREATE = """op.execute("create schema \\"My Shop\\"")
    op.create_table("orders", sa.Column("id", sa.BigInteger, primary_key=True), sa.Column("note", sa.Text))
    op.create_table("Order Items 100%", sa.Column("Item: Id", sa.BigInteger, primary_key=True), schema="My Shop")"""
DROP = """op.drop_table("Order Items 100%", schema="My Shop")
    op.drop_table("orders")
    op.execute('drop schema "My Shop"')"""
DEFAULTS = """op.set_id_default("orders", "id", previous_default="nextval('orders_id_seq'::regclass)")
    op.set_id_default("Order Items 100%", "Item: Id", schema="My Shop", shard=6)"""
NO_DEFAULTS = """op.drop_id_default("Order Items 100%", "Item: Id", schema="My Shop",
                       previous_default="nextval('\\"My Shop\\".\\"Order Items 100%_Item: Id_seq\\"'::regclass)")
    op.drop_id_default("orders", "id", previous_default="nextval('orders_id_seq'::regclass)")"""


@pytest.fixture
def history(database: sa.Engine, make_application: MakeApplication) -> Application:
    """An application whose history makes tables, installs the generator, and makes it their default."""
    return write_history(make_application(database, sa.MetaData()))


def write_history(application: Application) -> Application:
    application.write("a1", None, CREATE, DROP)
    application.write("a2", "a1", "op.install_shardflake(version=4)", "op.uninstall_shardflake(version=4)")
    application.write("a3", "a2", DEFAULTS, NO_DEFAULTS)
    return application


def defaults(engine: sa.Engine) -> list[str | None]:
    return [
        sa.inspect(engine).get_columns("orders")[0]["default"],
        sa.inspect(engine).get_columns("Order Items 100%", schema="My Shop")[0]["default"],
    ]


OLD = ["nextval('orders_id_seq'::regclass)", 'nextval(\'"My Shop"."Order Items 100%_Item: Id_seq"\'::regclass)']
NEW = ["shardflake.next_id()", "shardflake.next_id(6)"]


def test_a_history_runs_forth_and_back(history: Application) -> None:
    engine = history.engine
    history.upgrade("a1")
    before = objects(engine)
    assert defaults(engine) == OLD
    history.upgrade("a2")
    assert catalog(engine) == assets.read("catalog.txt")
    assert install.status(engine).revision == install.head()  # the package's command line goes on from here
    install.assign(engine, 5, logical_shards=[6])
    history.upgrade("a3")
    assert defaults(engine) == NEW
    with engine.begin() as connection:
        made = connection.scalars(sa.text("insert into orders default values returning id")).one()
    assert shardflake.decode(made).shard == 5
    history.downgrade("a2")
    assert defaults(engine) == OLD
    history.downgrade("a1")
    assert objects(engine) == before
    history.upgrade("a2")
    assert catalog(engine) == assets.read("catalog.txt")


def test_the_offline_script_does_the_same(history: Application, make_database: Callable[..., sa.Engine], psql: Psql) -> None:
    offline = make_database()
    psql(offline, history.script("a2"))
    history.upgrade("a2")
    assert catalog(offline) == catalog(history.engine) == assets.read("catalog.txt")
    assert objects(offline) == objects(history.engine)
    for engine in (offline, history.engine):
        install.assign(engine, 5, logical_shards=[6])
    script = history.script("a2:a3")
    assert "SELECT shardflake.set_id_default(CAST('\"My Shop\".\"Order Items 100%\"' AS REGCLASS), 'Item: Id', 6)" in script
    psql(offline, script)
    history.upgrade("a3")
    assert defaults(offline) == defaults(history.engine) == NEW
    assert objects(offline) == objects(history.engine)
    psql(offline, history.script("a3:a1", downgrade=True))
    history.downgrade("a1")
    assert defaults(offline) == defaults(history.engine) == OLD
    assert objects(offline) == objects(history.engine)


def test_a_refused_default_leaves_the_database_at_the_revision_before(history: Application) -> None:
    history.upgrade("a2")
    before = objects(history.engine)
    with pytest.raises(ShardIdError, match="SF001"), translate_errors():
        history.upgrade("a3")
    install.assign(history.engine, 5, logical_shards=[6])
    with history.engine.begin() as connection:
        connection.execute(sa.text("insert into orders values (9223372036854775807)"))
    with pytest.raises(ColumnError, match="SF012"), translate_errors():
        history.upgrade("a3")
    assert objects(history.engine) == before
    with history.engine.begin() as connection:
        assert connection.scalar(sa.text("select version_num from alembic_version")) == "a2"
        connection.execute(sa.text("delete from orders"))
    history.upgrade("a3")
    with history.engine.begin() as connection:
        connection.execute(sa.text("update alembic_version set version_num = 'a2'"))  # the defaults are forgotten
    with pytest.raises(ColumnError, match="SF013"), translate_errors():
        history.downgrade("a1")
    assert defaults(history.engine) == NEW


def test_names_may_come_from_reflection(shard: sa.Engine) -> None:
    with shard.begin() as connection:
        connection.execute(sa.text("create table reflected (id bigint)"))
        operations: Any = Operations(MigrationContext.configure(connection))
        operations.set_id_default(quoted_name("reflected", None), quoted_name("id", None))
        operations.drop_id_default("reflected", "id")


@pytest.mark.parametrize("version", [0, 98, 99])
def test_a_version_that_the_package_does_not_hold_is_refused(
    database: sa.Engine, make_application: MakeApplication, version: int
) -> None:
    application = make_application(database, sa.MetaData())
    application.write("a1", None, f"op.install_shardflake(version={version})", "pass")
    with pytest.raises(InstallationError, match=rf"no version {version}; this package holds \[1, 2, 3, 4\]"):
        application.upgrade()


@pytest.mark.parametrize("search_path", ["public,shardflake", "shardflake,public"])
def test_an_application_that_sees_the_schema_keeps_its_own_history(
    database: sa.Engine, make_application: MakeApplication, search_path: str
) -> None:
    install.upgrade(database, 5)
    with database.begin() as connection:
        connection.execute(sa.text("create table public.alembic_version (version_num varchar(32) primary key)"))
        if search_path.startswith("public"):
            connection.execute(sa.text("drop table public.alembic_version"))  # the very first migration makes it
    application = make_application(as_session(database, search_path=search_path), sa.MetaData())
    application.write("a1", None, 'op.create_table("orders", sa.Column("id", sa.BigInteger), schema="public")', "pass")
    application.upgrade()
    with database.connect() as connection:
        assert connection.scalars(sa.text("select version_num from public.alembic_version")).all() == ["a1"]
    assert install.status(database).revision == install.head()
    assert install.check(database) == ""


def test_an_asynchronous_environment_runs_the_same_history(history: Application) -> None:
    async def upgrade(revision: str) -> None:
        engine = create_async_engine(driver_url(history.engine, "asyncpg"))
        async with engine.begin() as connection:
            await connection.run_sync(lambda sync: command.upgrade(history.config(sync), revision))
        await engine.dispose()

    async def downgrade(revision: str) -> None:
        engine = create_async_engine(driver_url(history.engine, "asyncpg"))
        async with engine.begin() as connection:
            await connection.run_sync(lambda sync: command.downgrade(history.config(sync), revision))
        await engine.dispose()

    asyncio.run(upgrade("a2"))
    assert catalog(history.engine) == assets.read("catalog.txt")
    install.assign(history.engine, 5, logical_shards=[6])
    asyncio.run(upgrade("a3"))
    assert defaults(history.engine) == NEW
    asyncio.run(downgrade("a1"))
    assert defaults(history.engine) == OLD


def bodies() -> list[tuple[str, str]]:
    """Return the migrations that docs/alembic.md shows: what to do, and the way back."""
    text = (Path(__file__).parents[2] / "docs" / "alembic.md").read_text()
    found = re.findall(
        r"^def upgrade\(\) -> None:\n(.*?)\n\n\ndef downgrade\(\) -> None:\n(.*?)\n```", text, re.MULTILINE | re.DOTALL
    )
    return [(up.strip(), down.strip()) for up, down in found]


ORDERS = 'op.create_table("orders", sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False))'


def test_the_migrations_of_the_docs_run_forth_and_back(database: sa.Engine, make_application: MakeApplication) -> None:
    application = make_application(database, sa.MetaData())
    application.write("a1", None, ORDERS, 'op.drop_table("orders")')
    for number, (upgrade, downgrade) in enumerate(bodies()[:2], 2):
        application.write(f"a{number}", f"a{number - 1}", upgrade, downgrade)
    application.upgrade("a1")
    before = objects(database)
    application.upgrade("a2")
    assert catalog(database) == assets.read("catalog.txt")
    with pytest.raises(ShardIdError, match="SF001"), translate_errors():
        application.upgrade("a3")
    install.assign(database, 5)
    application.upgrade("a3")
    with database.begin() as connection:
        made = connection.scalars(sa.text("insert into orders default values returning id")).one()
    assert shardflake.decode(made).shard == 5
    application.downgrade("a1")
    assert objects(database) == before


def test_a_later_migration_adds_what_a_version_added(
    database: sa.Engine, make_application: MakeApplication, make_database: Callable[..., sa.Engine], psql: Psql
) -> None:
    application = make_application(database, sa.MetaData())
    application.write("a1", None, "op.install_shardflake(version=1)", "op.uninstall_shardflake(version=1)")
    application.write("a2", "a1", *bodies()[2])
    application.upgrade("a1")
    before = objects(database)
    application.upgrade("a2")
    assert catalog(database) == assets.read("catalog.txt")
    assert install.status(database).revision == install.head()
    assert install.check(database) == ""
    offline = make_database()
    psql(offline, application.script("a2"))
    assert catalog(offline) == assets.read("catalog.txt")
    application.downgrade("a1")
    psql(offline, application.script("a2:a1", downgrade=True))
    assert objects(database) == objects(offline) == before
    assert install.status(database).revision == install.status(offline).revision == "0001"
    application.downgrade("base")
    with database.connect() as connection:
        assert connection.scalar(sa.text("select to_regnamespace('shardflake')")) is None


@pytest.mark.parametrize("words", ["version=3, from_version=3", "version=2, from_version=3", "version=2, from_version=-1"])
def test_a_way_that_leads_nowhere_is_refused(database: sa.Engine, make_application: MakeApplication, words: str) -> None:
    application = make_application(database, sa.MetaData())
    application.write("a1", None, f"op.install_shardflake({words})", "pass")
    with pytest.raises(InstallationError, match="no way leads from version"):
        application.upgrade()
