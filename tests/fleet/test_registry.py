"""The registry hands out each shard id once, however many ask at the same moment."""

from __future__ import annotations

import json
import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest
import sqlalchemy as sa
from alembic import command

from shardflake import assets, install
from shardflake.errors import RegistryError
from shardflake.fleet.file import Shard
from shardflake.fleet.registry import claim, directory, entries, install_registry, retire
from shardflake.server import LocalServer
from tests.cli.conftest import Run
from tests.conftest import Server, dsn
from tests.fleet.conftest import TestFleet

CLAIM = "select shardflake_registry.claim(%s, 1, %s::oid, 'x')"
CONTENT = """
select p.oid::regprocedure::text, pg_get_functiondef(p.oid), obj_description(p.oid, 'pg_proc'), p.proacl::text
  from pg_proc p where p.pronamespace = 'shardflake_registry'::regnamespace
union all
select c.oid::regclass::text, string_agg(a.attname || format_type(a.atttypid, null) || a.attnotnull, ','),
       obj_description(c.oid, 'pg_class'), ''
  from pg_class c join pg_attribute a on a.attrelid = c.oid and attnum > 0
 where c.relnamespace = 'shardflake_registry'::regnamespace group by c.oid
union all
select conname, pg_get_constraintdef(oid), '', '' from pg_constraint where connamespace = 'shardflake_registry'::regnamespace
union all
select 'revision', version_num, '', '' from shardflake_registry._revision
order by 1
"""


@pytest.fixture
def registry(make_database: Callable[..., sa.Engine]) -> str:
    """The libpq string of a database with an empty registry."""
    url = dsn(make_database())
    install_registry(url)
    return url


@pytest.fixture
def connection(registry: str) -> Iterator[psycopg.Connection]:
    """An autocommitting connection to the registry."""
    with psycopg.connect(registry, autocommit=True) as opened:
        yield opened


def ask(url: str, number: int, answers: multiprocessing.Queue[int]) -> None:
    """Claim the lowest free shard id for a database of this number."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(CLAIM, (f"shard-{number}", number)).fetchone()
        assert row is not None
        answers.put(row[0])


def claims_at_once(url: str) -> list[int]:
    """Return which ids eight processes get that ask at the same moment."""
    context = multiprocessing.get_context("spawn")
    answers: multiprocessing.Queue[int] = context.Queue()
    processes = [context.Process(target=ask, args=(url, number, answers)) for number in range(8)]
    for process in processes:
        process.start()
    found = [answers.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()
    return sorted(found)


def test_eight_processes_at_once_get_eight_ids(registry: str) -> None:
    assert claims_at_once(registry) == list(range(8))


def test_without_its_lock_the_registry_would_give_an_id_twice(connection: psycopg.Connection, registry: str) -> None:
    row = connection.execute("select prosrc from pg_proc where oid = 'shardflake_registry.claim'::regproc").fetchone()
    assert row is not None
    lock = "lock table shardflake_registry.shard in share row exclusive mode;"
    assert lock in row[0]
    connection.execute(
        "update pg_proc set prosrc = %s where oid = 'shardflake_registry.claim'::regproc", (row[0].replace(lock, ""),)
    )
    found: list[int] = []

    def second() -> None:
        with psycopg.connect(registry, autocommit=True) as other:
            answer = other.execute(CLAIM, ("b", 2)).fetchone()
            assert answer is not None
            found.append(answer[0])

    with psycopg.connect(registry) as first:
        answer = first.execute(CLAIM, ("a", 1)).fetchone()
        thread = threading.Thread(target=second)
        thread.start()
        waiting = (
            "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%shardflake_registry.claim%'"
        )
        while connection.execute(waiting).fetchone() == (0,):
            time.sleep(0.01)
    thread.join()
    assert answer == (0,)
    assert found == [0]


def test_the_lowest_free_id_and_never_a_retired_one(connection: psycopg.Connection, registry: str) -> None:
    def get(name: str, number: int, shard_id: int | None = None, reuse: bool = False) -> int:
        row = connection.execute(
            "select shardflake_registry.claim(%s, 1, %s::oid, 'x', shard_id => %s, reuse_retired => %s)",
            (name, number, shard_id, reuse),
        ).fetchone()
        assert row is not None
        return int(row[0])

    assert [get("a", 1), get("b", 2, 7), get("c", 3)] == [0, 7, 1]
    assert [get("a", 1), get("b", 2), get("b", 2, 7)] == [0, 7, 7]
    for code, arguments in {
        "SF020": ("d", 4, 7),
        "SF021": ("a", 4),
        "SF007": ("d", 4, 8192),
    }.items():
        with pytest.raises(psycopg.errors.Error) as caught:
            get(*arguments)  # type: ignore[arg-type]
        assert caught.value.sqlstate == code
    with pytest.raises(psycopg.errors.Error, match="e asks for a shard id, but c holds 1"):
        get("e", 3)
    assert retire(registry, "a") == [0]
    assert get("d", 4) == 2
    with pytest.raises(psycopg.errors.Error, match="shard id 0 was retired on"):
        get("f", 6, 0)
    assert get("f", 6, 0, reuse=True) == 0
    with pytest.raises(RegistryError, match="a holds no shard id"):
        retire(registry, "a")
    assert [entry.name for entry in entries(registry)] == ["f", "c", "d", "b"]


def test_all_ids_handed_out(connection: psycopg.Connection) -> None:
    connection.execute(
        "insert into shardflake_registry.shard (shard_id, name, database_oid, database_name) "
        "select n, n, n, n from generate_series(0, 8191) n"
    )
    with pytest.raises(psycopg.errors.Error, match="all 8192 shard ids were handed out"):
        connection.execute(CLAIM, ("a", 1))


def test_claim_assigns_and_check_compares(
    make_fleet: Callable[..., TestFleet], registry: str, run_fleet: Run, installed_template: str
) -> None:
    fleet = make_fleet(3, installed_template)
    urls = {f"s{number}": f"url = {dsn(engine)!r}" for number, engine in enumerate(fleet.engines)}
    urls["s2"] += "\nshard_id = 9\nlogical_shards = [1, 20]"
    fleet.write(f"registry = {registry!r}", **urls)
    install.assign(fleet.engines[2], 9, logical_shards=[1, 20])
    assert ": not in the registry" in run_fleet("check", code=1).stdout
    for name, expected in (("s2", 9), ("s0", 0), ("s0", 0), ("s1", 2)):
        assert run_fleet("claim", name).stdout == f"{name} holds shard id {expected}\n"
    assert [fleet.scalar(number, "select shardflake.shard_id()") for number in range(3)] == [0, 2, 9]
    assert run_fleet("check").stdout == "3 shards, no findings\n"
    found = json.loads(run_fleet("registry", "--format", "json").stdout)["shards"]
    assert [(entry["shard_id"], entry["name"], entry["logical"]) for entry in found] == [
        (0, "s0", False),
        (1, "s2", True),
        (2, "s1", False),
        (9, "s2", False),
        (20, "s2", True),
    ]
    assert run_fleet("retire", "s2").stdout == "retired 1, 9, 20 of s2\n"
    assert "shard ids 1, 9, 20: retired on" in run_fleet("check", code=1).stdout
    assert "cannot claim 5" in run_fleet("claim", "s1", "--shard-id", "5", code=1).stderr
    fleet.execute(1, "select shardflake.assign_shard(0, replace => true)")
    assert "s1: registry: shard id 0: registered as s0, another database" in run_fleet("check", code=1).stdout


def test_without_a_registry_the_message_says_what_to_do(
    make_fleet: Callable[..., TestFleet], run_fleet: Run, database: sa.Engine
) -> None:
    fleet = make_fleet(1)
    assert "the file names no registry" in run_fleet("registry", code=2).stderr
    assert "the file names no registry" in run_fleet("claim", "s0", code=2).stderr
    fleet.write(f"registry = {dsn(database)!r}")
    assert "fleet registry --install" in run_fleet("registry", code=1).stderr
    run_fleet("registry", "--install")
    assert run_fleet("registry", "--install").stdout.startswith("id\tname")
    assert "not installed in s0" in run_fleet("claim", "s0", code=1).stderr


def test_it_is_the_same_by_psql_by_the_offline_script_and_online(
    make_database: Callable[..., sa.Engine], server: Server, local_server: LocalServer, run_fleet: Run
) -> None:
    if server is not local_server:
        pytest.skip("needs the server's own psql")
    online, offline, by_psql = (dsn(make_database()) for _ in range(3))
    install_registry(online)
    script = assets.sql_dir() / "registry" / "install.sql"
    local_server.run("psql", "-X", "-q", "-1", "-v", "ON_ERROR_STOP=1", "-d", by_psql, "-f", str(script))
    with psycopg.connect(offline, autocommit=True) as connection:
        connection.execute(run_fleet("registry", "--sql").stdout.encode())
    contents = []
    for url in (online, offline, by_psql):
        with psycopg.connect(url) as connection:
            contents.append(connection.execute(CONTENT).fetchall())
    assert contents[0] == contents[1] == contents[2]
    assert len(contents[0]) > 5
    install_registry(by_psql)  # finds it at head


def test_it_stands_beside_the_generator_and_goes_alone(shard: sa.Engine) -> None:
    install_registry(dsn(shard))
    assert install.check(shard) == ""
    with install.transaction(shard) as connection:
        install.run_alembic(connection, command.downgrade, "base", directory())
    with shard.connect() as connection:
        assert connection.scalar(sa.text("select to_regnamespace('shardflake_registry')")) is None
        assert connection.scalar(sa.text("select shardflake.shard_of(shardflake.next_id())")) == 5


def test_a_claim_that_ended_between_registry_and_shard_is_finished_by_the_next(
    make_database: Callable[..., sa.Engine], registry: str, installed_template: str
) -> None:
    engine = make_database(installed_template)
    taken = Shard("taken", dsn(engine))
    with psycopg.connect(dsn(engine)) as connection:
        row = connection.execute("select oid, datname from pg_database where datname = current_database()").fetchone()
        system = connection.execute("select system_identifier from pg_control_system()").fetchone()
    assert row is not None
    assert system is not None
    with psycopg.connect(registry) as connection:
        connection.execute("select shardflake_registry.claim('taken', %s, %s::oid, %s)", (system[0], row[0], row[1]))
    assert claim(registry, taken) == 0
    with engine.connect() as opened:
        assert opened.scalar(sa.text("select shardflake.shard_id()")) == 0
