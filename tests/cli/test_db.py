"""``shardflake db`` on real servers: what each command does and prints."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from shardflake import assets, install
from tests.cli.conftest import Run
from tests.conftest import dsn

RunOn = Callable[[sa.Engine], Run]


def execute(engine: sa.Engine, *statements: str) -> None:
    """Run statements, each on its own."""
    with engine.connect() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
        connection.commit()


def test_upgrade_installs_and_downgrade_removes(database: sa.Engine, run_on: RunOn) -> None:
    run = run_on(database)
    assert run("db", "upgrade", "--shard-id", "8191").stdout == f"at revision {install.head()}, shard 8191\n"
    assert run("db", "upgrade").stdout == f"at revision {install.head()}\n"
    assert install.status(database).shard_id == 8191
    assert run("db", "downgrade").stdout == "removed\n"
    with database.connect() as connection:
        assert connection.scalar(sa.text("select to_regnamespace('shardflake')")) is None


def test_downgrade_refuses_and_lists_the_columns_in_use(shard: sa.Engine, run_on: RunOn) -> None:
    execute(shard, "create table orders (id bigint primary key default shardflake.next_id())")
    error = run_on(shard)("db", "downgrade", code=1).stderr
    assert "column id of table public.orders" in error
    assert install.status(shard).shard_id == 5


def test_a_database_can_be_named_in_every_form(shard: sa.Engine, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = psycopg.conninfo.conninfo_to_dict(dsn(shard))
    host, port, user, name = (parameters[key] for key in ("host", "port", "user", "dbname"))
    libpq = f"postgresql://{user}@{host}:{port}/{name}"
    for url in (libpq, libpq.replace("://", "+psycopg://"), libpq.replace("://", "+asyncpg://"), dsn(shard)):
        password = {"PGPASSWORD": str(parameters.get("password", ""))}
        assert json.loads(run("db", "status", "--url", url, "--format", "json", env=password).stdout)["shard_id"] == 5
    for key, value in (("PGHOST", host), ("PGPORT", port), ("PGUSER", user), ("PGDATABASE", name)):
        monkeypatch.setenv(key, str(value))
    assert json.loads(run("db", "status", "--format", "json", env=password).stdout)["shard_id"] == 5


def test_status_as_a_table_fits_100_columns(shard: sa.Engine, run_on: RunOn) -> None:
    install.assign(shard, 5, logical_shards=[*range(10, 20), *range(100, 8000, 2)])
    for columns in ("80", "100", "200"):
        table = run_on(shard)("db", "status", env={"COLUMNS": columns}).stdout
        assert max(map(len, table.splitlines())) <= min(int(columns), 100)
    for words in ("shard id", "5, 10-19, 100, 102", "confirmed", "shardflake 41/13/10", "none: no id was issued yet"):
        assert words in table
    execute(shard, "select shardflake.next_id()")
    assert "(in " in run_on(shard)("db", "status").stdout


def test_status_as_json(shard: sa.Engine, run_on: RunOn) -> None:
    execute(shard, "select shardflake.next_ids(5000)")
    state = json.loads(run_on(shard)("db", "status", "--format", "json").stdout)
    assert state["shard_id"] == 5
    assert state["logical_shards"] == [5]
    assert state["revision"] == install.head()
    assert state["max_lead_ms"] == 10_000
    assert datetime.fromisoformat(state["high_water"]) > datetime.fromisoformat(state["clock"])
    assert state.keys() == set(install.Status.__slots__) - {"lead", "max_lead"} | {"lead_ms", "max_lead_ms"}


def test_status_finds_a_database_without_a_shard_id(
    make_database: Callable[..., sa.Engine], installed_template: str, run_on: RunOn
) -> None:
    result = run_on(make_database(installed_template))("db", "status", code=1)
    assert "not assigned" in result.stdout
    assert "shardflake db assign --shard-id N" in result.stderr


def test_status_finds_a_copy_and_confirm_rearms_it(
    make_database: Callable[..., sa.Engine], shard: sa.Engine, run_on: RunOn
) -> None:
    execute(
        shard,
        "create table orders (id bigint primary key default shardflake.next_id())",
        "insert into orders default values",
    )
    run = run_on(make_database(str(psycopg.conninfo.conninfo_to_dict(dsn(shard))["dbname"])))
    result = run("db", "status", code=1)
    assert "copied or altered" in result.stdout
    assert "shardflake db confirm" in result.stderr
    with shard.connect() as connection:
        largest = connection.scalar(sa.text("select id from orders"))
    assert run("db", "confirm").stdout.startswith(f"confirmed: 1 column checked, the largest id is {largest}; ")
    assert "confirmed" in run("db", "status").stdout


def test_confirm_says_when_there_is_nothing_to_check(shard: sa.Engine, run_on: RunOn) -> None:
    assert "0 columns checked, they hold no id" in run_on(shard)("db", "confirm").stdout


def test_check_finds_nothing_in_a_released_installation(shard: sa.Engine, run_on: RunOn) -> None:
    assert run_on(shard)("db", "check").stdout == f"no drift from revision {install.head()}\n"


def test_check_names_the_function_that_was_edited_by_hand(shard: sa.Engine, run_on: RunOn) -> None:
    with shard.connect() as connection:
        text = connection.scalar(sa.text("select pg_get_functiondef('shardflake.status'::regproc)"))
    assert isinstance(text, str)
    assert "years_left := round(" in text  # deep in the body: further from the name than a diff's context reaches
    execute(shard, text.replace("years_left := round(", "years_left := 7 + round("))
    result = run_on(shard)("db", "check", code=1)
    lines = result.stdout.splitlines()
    assert lines[:2] == [
        "--- function shardflake.status() as released",
        "+++ function shardflake.status() in this database",
    ]
    assert [line for line in lines if line.startswith("+ ")] == [line for line in lines if "7 + round(" in line]
    assert sum(line.startswith("---") for line in lines) == 1
    assert "\x1b[" not in result.stdout
    coloured = run_on(shard)("db", "check", code=1, env={"FORCE_COLOR": "1", "NO_COLOR": None, "TERM": "xterm-256color"}).stdout
    assert "\x1b[32m+" in coloured
    assert "\x1b[31m-" in coloured


def test_check_finds_what_was_added_and_dropped(shard: sa.Engine, run_on: RunOn) -> None:
    execute(shard, "drop function shardflake.max_id(timestamptz)", "create table shardflake.mine (id bigint)")
    diff = run_on(shard)("db", "check", code=1).stdout
    assert "--- function shardflake.max_id(timestamp with time zone) as released" in diff
    assert "+++ table shardflake.mine in this database" in diff


def test_sql_prints_a_script_that_installs(database: sa.Engine, run: Run) -> None:
    script = run("db", "sql", "--shard-id", "77").stdout
    with psycopg.connect(dsn(database), autocommit=True) as connection:
        connection.execute(script.encode())
    assert install.status(database).shard_id == 77
    assert install.check(database) == ""
    assert "assign_shard" not in run("db", "sql").stdout.splitlines()[-1]


def test_path_holds_the_script_for_psql(run: Run) -> None:
    path = Path(run("db", "path").stdout.rstrip("\n"))
    assert path == assets.sql_dir()
    assert (path / "install.sql").is_file()


def test_assign_sets_the_id_and_the_options(
    make_database: Callable[..., sa.Engine], installed_template: str, run_on: RunOn
) -> None:
    engine = make_database(installed_template)
    run = run_on(engine)
    words = ("db", "assign", "--shard-id", "5", "--logical-shards", "9,6,7", "--max-lead", "2.5")
    assert run(*words).stdout == "shard 5; issues ids of shards 5-7, 9, at most 2500 ms ahead of a clock that was set back\n"
    assert install.status(engine).logical_shards == [5, 6, 7, 9]
    assert "at most 0 ms" in run("db", "assign", "--shard-id", "5", "--max-lead", "0").stdout
    run("db", "assign", "--shard-id", "12", code=1)
    assert run("db", "assign", "--shard-id", "12", "--replace").stdout.startswith("shard 12;")


def test_set_default_prints_what_became_of_the_old_default(shard: sa.Engine, run_on: RunOn) -> None:
    execute(
        shard,
        'create table "Orders" (id bigserial primary key)',
        "create schema shop",
        "create table shop.items (id bigint generated always as identity)",
    )
    install.assign(shard, 5, logical_shards=[6])
    serial = run_on(shard)("db", "set-default", '"Orders"', "id").stdout
    assert "kept" in serial
    assert "the default of column id" in serial
    identity = run_on(shard)("db", "set-default", "shop.items", "id", "--shard", "6").stdout
    assert "the identity of column id of shop.items is dropped" in identity
    assert identity.endswith("the default of shop.items.id is shardflake.next_id(6)\n")
    with shard.connect() as connection:
        assert connection.scalar(sa.text('insert into "Orders" default values returning shardflake.shard_of(id)')) == 5
        assert connection.scalar(sa.text("insert into shop.items default values returning shardflake.shard_of(id)")) == 6


def test_grant_lets_a_role_insert_and_see_the_status(shard: sa.Engine, run_on: RunOn, make_role: Callable[[str], str]) -> None:
    url = make_role("App Writer")
    execute(shard, "create table orders (id bigint default shardflake.next_id())", 'grant insert on orders to "App Writer"')
    with psycopg.connect(url) as before, pytest.raises(psycopg.errors.InsufficientPrivilege):
        before.execute("insert into orders default values")
    assert run_on(shard)("db", "grant", "App Writer").stdout == "App Writer may draw ids\n"
    with psycopg.connect(url) as after:
        after.execute("insert into orders default values")
    state = json.loads(run_on(shard)("db", "status", "--url", url, "--format", "json").stdout)
    assert (state["shard_id"], state["revision"]) == (5, None)
