"""The package's own migrations: every way in leads to the same schema, and the way out leaves nothing behind."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory

from shardflake import assets, install
from shardflake.connect import LIMIT_LOCK_WAITS, make_engine
from shardflake.errors import ColumnError, InstallationError, ServerError, ShardIdError
from tests.conftest import Server, dsn
from tests.migrations.conftest import Psql, as_session, catalog, objects

ROOT = assets.sql_dir().parent
HOLD_UPGRADE_LOCK = sa.text("select pg_advisory_xact_lock(1936287346)")


def test_psql_upgrade_and_offline_script_make_the_same_schema(make_database: Callable[..., sa.Engine], psql: Psql) -> None:
    by_psql, online, offline = make_database(), make_database(), make_database()
    psql(by_psql, "install.sql", assets.sql_dir())
    assert install.upgrade(online) == install.head()
    psql(offline, install.offline_script())

    expected = assets.read("catalog.txt")
    assert catalog(online) == expected, "sql/ and sql/catalog.txt differ; if the change is meant, run: make snapshot"
    assert catalog(by_psql) == expected
    assert catalog(offline) == expected
    for engine in (by_psql, online, offline):
        assert install.check(engine) == ""
        assert install.upgrade(engine, 5) == install.head()  # goes on from where the others left off
        assert install.status(engine).revision == install.head()
        assert install.check(engine) == ""  # a shard id is no drift


@pytest.mark.parametrize(
    "settings", [{"search_path": "public"}, {"search_path": "evil,pg_catalog"}, {"search_path": "shardflake"}]
)
def test_the_search_path_of_the_installing_role_changes_nothing(database: sa.Engine, settings: dict[str, str]) -> None:
    with database.begin() as connection:
        connection.execute(sa.text("create schema evil"))
        connection.execute(
            sa.text("create function evil.floor(double precision) returns double precision language sql return 0")
        )
        connection.execute(sa.text("create function evil.clock_timestamp() returns timestamptz language sql return now()"))
    install.upgrade(as_session(database, **settings))
    assert install.check(database) == ""


def test_a_function_changed_by_hand_is_reported_with_a_diff(database: sa.Engine) -> None:
    install.upgrade(database)
    with database.begin() as connection:
        before = connection.scalar(sa.text("select pg_get_functiondef('shardflake.make_id'::regproc)"))
        connection.exec_driver_sql(before.replace("counter % does not fit", "counter % is odd").replace("%", "%%"))
    difference = install.check(database)
    assert "--- function shardflake.make_id(timestamp with time zone,integer,integer) as released" in difference
    assert "-    raise exception 'counter % does not fit'" in difference
    assert "+    raise exception 'counter % is odd'" in difference
    assert difference.count("---") == 1
    with database.begin() as connection:
        connection.exec_driver_sql(before.replace("%", "%%"))
    assert install.check(database) == ""


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("alter sequence shardflake._high_water cache 100", "-bigint from 0 to 9223372036854775807 start 0 by 1 cache 1"),
        ("grant execute on function shardflake.assign_shard to public", "+owner: the schema's owner; public may: execute"),
        (
            "create function shardflake.mine() returns int language sql return 1",
            "+++ function shardflake.mine() in this database",
        ),
        ("comment on function shardflake.next_id() is null", "-comment: One id of this database's shard"),
        ("drop function shardflake.make_id", "--- function shardflake.make_id"),
    ],
)
def test_other_changes_by_hand_are_reported_too(database: sa.Engine, change: str, line: str) -> None:
    install.upgrade(database)
    with database.begin() as connection:
        connection.execute(sa.text(change))
    assert line in install.check(database)


def revision_modules() -> list[Any]:
    """Return the revisions, first one first."""
    return [script.module for script in reversed(list(ScriptDirectory(str(assets.migrations_dir())).walk_revisions()))]


def test_revisions_pin_the_files_of_the_manifest_in_its_order() -> None:
    pins: dict[str, str] = {}
    for module in revision_modules():
        pins |= module.FILES
    assert list(pins) == assets.manifest()
    assert pins == assets.pins(assets.manifest()), "sql/ and the pins differ; if the change is meant, run: make snapshot"
    drops = {name: pin for module in revision_modules() for name, pin in module.DROP.items()}
    assert drops == assets.pins(list(drops))


def test_the_sql_install_records_the_head_revision() -> None:
    assert re.findall(r"values \('(\w+)'\)", assets.read("version.sql")) == [install.head()]


def test_the_template_makes_a_revision_that_can_be_run(tmp_path: Path) -> None:
    copy = tmp_path / "migrations"
    shutil.copytree(assets.migrations_dir(), copy)
    ScriptDirectory(str(copy)).generate_revision("0099", "next", head="head")
    (path,) = (copy / "versions").glob("0099*.py")
    spec = spec_from_file_location("next_revision", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (module.revision, module.down_revision, module.FILES) == ("0099", install.head(), {})


def test_downgrade_leaves_nothing_and_the_way_back_up_leads_to_the_same(database: sa.Engine, psql: Psql) -> None:
    with database.begin() as connection:
        connection.execute(sa.text("create table mine (id bigserial primary key)"))
    before = objects(database)
    install.upgrade(database, 5)
    first = catalog(database)
    assert objects(database) != before
    install.downgrade(database)
    assert objects(database) == before
    with pytest.raises(InstallationError, match="not installed"):
        install.downgrade(database)
    install.upgrade(database)
    assert catalog(database) == first
    psql(database, "uninstall.sql", assets.sql_dir())
    assert objects(database) == before


def test_downgrade_refuses_while_columns_views_or_functions_use_it(database: sa.Engine, psql: Psql) -> None:
    install.upgrade(database, 5)
    with database.begin() as connection:
        connection.execute(sa.text('create table "Orders" (id bigint primary key default shardflake.next_id(), n int)'))
        connection.execute(sa.text("create table lines (nr bigint default shardflake.next_id(5))"))
        connection.execute(sa.text('create view ages as select shardflake.timestamp_of(id) from "Orders"'))
    before = objects(database)
    with pytest.raises(ColumnError) as caught:
        install.downgrade(database)
    assert caught.value.sqlstate == "SF013"
    assert 'default value for column id of table public."Orders"' in str(caught.value)
    assert "default value for column nr of table public.lines" in str(caught.value)
    assert "view public.ages" in str(caught.value)
    assert "drop_id_default" in str(caught.value.hint)
    with pytest.raises(AssertionError, match="shardflake is still in use"):
        psql(database, "uninstall.sql", assets.sql_dir())
    assert objects(database) == before
    assert install.status(database).revision == install.head()
    with database.begin() as connection:
        connection.execute(sa.text('insert into "Orders" (n) values (1)'))
        connection.execute(sa.text("drop view ages"))
        connection.execute(
            sa.text("""select shardflake.drop_id_default('"Orders"', 'id'), shardflake.drop_id_default('lines', 'nr')""")
        )
    install.downgrade(database)
    with database.connect() as connection:
        assert connection.scalar(sa.text('select count(*) from "Orders" where id > 0')) == 1


@pytest.fixture
def schema_owner(server: Server, database: sa.Engine) -> Iterator[sa.Engine]:
    """A role that owns the schema shardflake and may do nothing more, logged in to an empty database."""
    role = f"owner_{os.getpid()}"
    with database.begin() as connection:
        connection.execute(sa.text(f"create role {role} login password 'secret'"))
        connection.execute(sa.text(f"create schema shardflake authorization {role}"))
    yield make_engine(f"{dsn(database)} user={role} password=secret")
    with database.begin() as connection:
        connection.execute(sa.text(f"drop owned by {role} cascade"))
        connection.execute(sa.text(f"drop role {role}"))


def test_a_role_that_only_owns_the_schema_can_install_and_remove(schema_owner: sa.Engine) -> None:
    with schema_owner.connect() as connection:
        assert connection.scalar(sa.text("select has_database_privilege(current_database(), 'create')")) is False
        assert connection.scalar(sa.text("select rolsuper from pg_roles where rolname = current_user")) is False
    assert install.upgrade(schema_owner, 7) == install.head()
    assert install.check(schema_owner) == ""
    with schema_owner.connect() as connection:
        assert connection.scalar(sa.text("select shardflake.shard_of(shardflake.next_id())")) == 7
    install.downgrade(schema_owner)
    assert objects(schema_owner) == ["schema shardflake"]
    assert install.upgrade(schema_owner, 7) == install.head()
    assert install.check(schema_owner) == ""


def test_a_role_without_the_right_to_create_schemas_is_told(schema_owner: sa.Engine) -> None:
    with schema_owner.begin() as connection:
        connection.execute(sa.text("drop schema shardflake"))
    with pytest.raises(ServerError, match="permission denied for database") as caught:
        install.upgrade(schema_owner)
    assert caught.value.sqlstate == "42501"
    assert objects(schema_owner) == []


def test_twenty_upgrades_at_once_install_once(database: sa.Engine) -> None:
    waiting = sa.text("select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
    command = [sys.executable, "-m", "alembic", "-x", f"url={dsn(database)} options='-c lock_timeout=60s'", "upgrade", "head"]
    with database.connect() as start, database.connect() as opened:
        observer = opened.execution_options(isolation_level="AUTOCOMMIT")  # a transaction would see the same activity for ever
        start.execute(HOLD_UPGRADE_LOCK)
        upgrades = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(20)]
        for _ in range(600):
            if observer.scalar(waiting) == 20:
                break
            time.sleep(0.1)
        assert observer.scalar(waiting) == 20
    failures = [error for upgrade in upgrades if (error := upgrade.communicate()[1]) and upgrade.returncode != 0]
    assert failures == []
    assert install.check(database) == ""
    with database.connect() as connection:
        assert connection.scalars(sa.text("select version_num from shardflake._revision")).all() == [install.head()]


def test_threads_may_upgrade_different_databases_at_once(make_database: Callable[..., sa.Engine]) -> None:
    fleet = [make_database() for _ in range(4)]
    with ThreadPoolExecutor(len(fleet)) as pool:
        revisions = list(pool.map(install.upgrade, fleet, range(len(fleet))))
    assert revisions == [install.head()] * 4
    assert [install.status(engine).shard_id for engine in fleet] == [0, 1, 2, 3]


def test_an_upgrade_does_not_wait_long_for_another(database: sa.Engine) -> None:
    with database.connect() as other:
        other.execute(HOLD_UPGRADE_LOCK)
        with pytest.raises(ServerError, match="lock timeout") as caught:
            install.upgrade(as_session(database, lock_timeout="200ms"))
    assert caught.value.sqlstate == "55P03"
    assert "another upgrade" in str(caught.value.hint)
    assert objects(database) == []
    install.upgrade(database)


@pytest.mark.parametrize(("setting", "limit"), [("0", "10s"), ("45s", "45s")])
def test_waits_are_limited_to_ten_seconds_unless_the_session_says_otherwise(
    database: sa.Engine, setting: str, limit: str
) -> None:
    with as_session(database, lock_timeout=setting).connect() as connection:
        connection.execute(sa.text(LIMIT_LOCK_WAITS))
        assert connection.scalar(sa.text("show lock_timeout")) == limit
    assert LIMIT_LOCK_WAITS in install.offline_script()


def test_an_interrupted_upgrade_leaves_the_database_as_it_was(database: sa.Engine) -> None:
    with database.begin() as connection:
        connection.execute(sa.text("create schema shardflake"))
        connection.execute(sa.text("create function shardflake.status() returns int language sql return 1"))  # fails halfway
    before = objects(database)
    with pytest.raises(ServerError, match='function "status" already exists'):
        install.upgrade(database)
    assert objects(database) == before
    with database.begin() as connection:
        connection.execute(sa.text("drop function shardflake.status"))
    assert install.upgrade(database) == install.head()


def test_a_second_shard_id_undoes_the_upgrade_too(database: sa.Engine, psql: Psql) -> None:
    install.upgrade(database, 5)
    with pytest.raises(ShardIdError, match="SF008"):
        install.upgrade(database, 6)
    assert install.status(database).shard_id == 5


def test_a_fleet_half_of_which_failed_is_finished_by_running_again(make_database: Callable[..., sa.Engine]) -> None:
    fleet = [make_database() for _ in range(3)]

    def upgrade_all() -> None:
        for shard_id, engine in enumerate(fleet):
            install.upgrade(as_session(engine, lock_timeout="200ms"), shard_id)

    def revisions() -> list[str | None]:
        query = sa.text("select to_regclass('shardflake._revision')")
        found = []
        for engine in fleet:
            with engine.connect() as connection:
                there = connection.scalar(query) is not None
                found.append(connection.scalar(sa.text("select version_num from shardflake._revision")) if there else None)
        return found

    with fleet[1].connect() as in_the_way:
        in_the_way.execute(HOLD_UPGRADE_LOCK)
        with pytest.raises(ServerError, match="lock timeout"):
            upgrade_all()
    assert revisions() == [install.head(), None, None]
    upgrade_all()
    assert revisions() == [install.head()] * 3
    assert [install.status(engine).shard_id for engine in fleet] == [0, 1, 2]


def test_a_released_file_that_was_edited_is_not_run(
    database: sa.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(assets.sql_dir(), tmp_path / "sql")
    shutil.copytree(assets.migrations_dir(), tmp_path / "migrations")
    monkeypatch.setattr(assets, "_root", lambda: tmp_path)
    assert install.upgrade(database) == install.head()
    install.downgrade(database)
    with (tmp_path / "sql" / "functions" / "status.sql").open("a") as file:
        file.write("\n-- a remark\n")
    with pytest.raises(
        InstallationError, match=r"no text of functions/status\.sql has the fingerprint .* revision 0001 released"
    ):
        install.upgrade(database)
    assert objects(database) == []


def alembic(database: sa.Engine, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Alembic's command line where pyproject.toml has its settings."""
    return subprocess.run(
        [sys.executable, "-m", "alembic", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_alembic_command_line_works_from_the_checkout(database: sa.Engine, psql: Psql) -> None:
    done = alembic(database, "upgrade", "head", SHARDFLAKE_URL=dsn(database))
    assert done.returncode == 0, done.stderr
    assert install.check(database) == ""
    done = alembic(database, "-x", f"url={dsn(database)}", "current")
    assert done.stdout.strip() == f"{install.head()} (head)", done.stderr
    done = alembic(database, "downgrade", "base", SHARDFLAKE_URL=dsn(database))
    assert done.returncode == 0, done.stderr
    assert objects(database) == []
    done = alembic(database, "upgrade", "head", "--sql")
    assert done.stdout == install.offline_script(), done.stderr
    psql(database, done.stdout)
    assert install.check(database) == ""
    done = alembic(database, "downgrade", "head:base", "--sql")
    assert done.returncode == 0, done.stderr
    psql(database, done.stdout)
    assert objects(database) == []
    done = alembic(database, "current", SHARDFLAKE_URL=dsn(database))
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert objects(database) == []  # asking creates nothing


def test_the_offline_script_keeps_what_the_files_say(database: sa.Engine, psql: Psql) -> None:
    script = install.offline_script(shard_id=5)
    for name in assets.manifest():
        for statement in assets.statements(assets.read(name)):
            assert statement in script
    assert "%L::bigint" in script
    assert "%%" not in script
    psql(database, script)
    assert install.status(database).shard_id == 5


@pytest.mark.parametrize("revision", ["0099", "nonsense"])
def test_an_unknown_revision_is_refused(database: sa.Engine, revision: str) -> None:
    with pytest.raises(InstallationError, match=revision):
        install.offline_script(revision)
    with pytest.raises(InstallationError, match=revision):
        install.upgrade(database, revision=revision)
    assert objects(database) == []
