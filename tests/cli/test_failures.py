"""What goes wrong: one clear message, the exit code of its kind, no password, and the database as it was."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest
import sqlalchemy as sa
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from shardflake import connect, errors, install
from shardflake.cli import exit_code
from shardflake.cli.output import hide_passwords
from shardflake.errors import ShardflakeError
from shardflake.server import LocalServer
from tests.cli.conftest import Run
from tests.conftest import dsn

RunOn = Callable[[sa.Engine], Run]
SECRET = "s3cr3t"


def every_error() -> Iterator[type[ShardflakeError]]:
    """Give all classes of the exception tree."""
    for item in vars(errors).values():
        if isinstance(item, type) and issubclass(item, ShardflakeError):
            yield item


def test_every_error_has_the_exit_code_of_its_kind() -> None:
    codes = {kind.__name__: exit_code(kind.__new__(kind)) for kind in every_error()}
    assert {codes.pop(f"{name}Error") for name in ("InvalidId", "FleetFile", "Results")} == {2}
    assert (codes.pop("ConnectionFailedError"), codes.pop("UnsupportedServerError")) == (3, 4)
    assert set(codes.values()) == {1}


@pytest.fixture(scope="session")
def closed_port() -> int:
    """A port of this machine that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


COMMANDS_THAT_CONNECT = [
    ["upgrade", "--shard-id", "5"],
    ["downgrade"],
    ["status"],
    ["check"],
    ["assign", "--shard-id", "5"],
    ["confirm"],
    ["set-default", "orders", "id"],
    ["grant", "app"],
]


@pytest.mark.parametrize("words", COMMANDS_THAT_CONNECT, ids=lambda words: words[0])
def test_a_closed_port_is_exit_code_3(run: Run, closed_port: int, words: list[str]) -> None:
    result = run("db", *words, "--url", f"postgresql://app:{SECRET}@127.0.0.1:{closed_port}/shop", code=3)
    assert result.stderr.startswith("error: cannot connect: ")
    assert str(closed_port) in result.stderr
    assert SECRET not in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("words", COMMANDS_THAT_CONNECT[2:], ids=lambda words: words[0])
def test_a_database_without_shardflake_is_told_apart(run_on: RunOn, database: sa.Engine, words: list[str]) -> None:
    error = run_on(database)("db", *words, code=1).stderr
    assert error == "error: shardflake is not installed in this database; run: shardflake db upgrade\n"


def test_an_old_server_is_exit_code_4(run_on: RunOn, database: sa.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "OLDEST_SERVER", 990000)  # every server is too old
    for words in (["upgrade"], ["status"]):
        error = run_on(database)("db", *words, code=4).stderr
        assert error.startswith("error: the server is PostgreSQL 1")
        assert "shardflake needs PostgreSQL " in error


def test_an_unknown_database_and_a_wrong_password_are_exit_code_3(run: Run, shard: sa.Engine) -> None:
    assert (
        '"nowhere" does not exist' in run("db", "status", "--url", make_conninfo(dsn(shard), dbname="nowhere"), code=3).stderr
    )
    result = run("db", "status", "--url", make_conninfo(dsn(shard), user="nobody", password=SECRET), code=3)
    assert "nobody" in result.stderr
    assert SECRET not in result.output


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://app:{secret}@:::/shop",
        "postgresql://app:{secret}@127.0.0.1:port/shop",
        "postgresql://app:{secret}@127.0.0.1:99999999999/shop",
        "postgresql://app:{secret}@127.0.0.1/shop?nosuch=1",
        "postgresql://app:{secret}@127.0.0.1/shop?connect_timeout=%zz",
        "postgresql://app:pass@{secret}@127.0.0.1:1/shop",
        "postgresql://app:pass/{secret}@127.0.0.1:1/shop",
        "postgresql://app:12/{secret}@127.0.0.1:1/shop",
        "postgresql://app:pa%ss{secret}@127.0.0.1:1/shop",
        "postgresql+psycopg://app:{secret}@127.0.0.1:port/shop",
        "postgresql+psycopg://app:pass@{secret}@127.0.0.1:1/shop",
        "postgresql+psycopg://app:pass@{secret}:x@127.0.0.1:1/shop",
        "postgresql+psycopg://app:pass/{secret}@127.0.0.1:1/shop",
        "mysql://app:{secret}@127.0.0.1/shop",
        "mysql+pymysql://app:{secret}@127.0.0.1:1/shop",
        "host=127.0.0.1 port=1 password={secret} nosuch=1",
        "host=127.0.0.1 port=1 password={secret} more",
        "host=127.0.0.1 port=x password={secret}",
        "host=127.0.0.1 port=1 password='{secret}",
        "{secret}",
    ],
)
def test_a_malformed_url_shows_no_password(run: Run, url: str) -> None:
    given = url.format(secret=SECRET)
    for result in (
        run("db", "status", "--url", given, code=3),
        run("db", "status", code=3, env={"SHARDFLAKE_URL": given}),
    ):
        assert result.stderr.startswith("error: ")
        assert SECRET not in result.output
        assert "Traceback" not in result.output


@pytest.mark.parametrize(
    "words",
    [
        ["db", "status", "{url}"],
        ["db", "{url}", "status"],
        ["{url}"],
        ["db", "status", "--ulr={url}"],
        ["db", "upgrade", "--shard-id", "{url}"],
        ["db", "status", "password={secret} host=x"],
    ],
)
def test_a_url_in_the_wrong_place_shows_no_password(run: Run, words: list[str]) -> None:
    url = f"postgresql://app:{SECRET}@127.0.0.1:1/shop"
    result = run(*(word.format(url=url, secret=SECRET) for word in words), code=2)
    assert SECRET not in result.output
    assert result.stderr != ""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://app:secret@h/d", "postgresql://app:***@h/d"),
        ("a postgresql+psycopg://app:s@cr:et@h/d b", "a postgresql+psycopg://app:***@h/d b"),
        ("host=h password=secret port=1", "host=h password=*** port=1"),
        ("host=h password = 'sec ret\\'s' port=1", "host=h password = *** port=1"),
        ("postgresql://h/d?user=u&password=secret&x=1", "postgresql://h/d?user=u&password=***&x=1"),
        ("nothing to hide: a@b", "nothing to hide: a@b"),
    ],
)
def test_passwords_are_blotted_out(text: str, shown: str) -> None:
    assert hide_passwords(text) == shown


@pytest.mark.parametrize("words", [["upgrade", "--shard-id"], ["sql", "--shard-id"], ["assign", "--shard-id"]])
@pytest.mark.parametrize("shard_id", ["-1", "8192"])
def test_a_shard_id_out_of_range_is_usage(run_on: RunOn, database: sa.Engine, words: list[str], shard_id: str) -> None:
    result = run_on(database)("db", *words, shard_id, code=2)
    assert result.stderr == f"error: shard id {shard_id} is not between 0 and 8191\n"
    assert not has_schema(database)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--logical-shards", "6,x"], "'6,x' is not a list of shard ids"),
        (["--logical-shards", ""], "'' is not a list of shard ids"),
        (["--logical-shards", "6,8192"], "shard id 8192 is not between 0 and 8191"),
        (["--max-lead", "-1"], "max lead -1 s is not between 0 and 86400 s"),
        (["--max-lead", "nan"], "max lead nan s is not between 0 and 86400 s"),
        (["--max-lead", "86401"], "max lead 86401 s is not between 0 and 86400 s"),
    ],
)
def test_bad_options_of_assign_are_usage(run_on: RunOn, shard: sa.Engine, words: list[str], message: str) -> None:
    assert message in run_on(shard)("db", "assign", "--shard-id", "5", *words, code=2).stderr
    state = install.status(shard)
    assert (state.logical_shards, state.max_lead.total_seconds()) == ([5], 10)


@pytest.mark.parametrize("command", ["upgrade", "assign"])
def test_a_second_shard_id_is_refused(run_on: RunOn, shard: sa.Engine, command: str) -> None:
    error = run_on(shard)("db", command, "--shard-id", "6", code=1).stderr
    assert error.startswith("error: this database is shard 5 already, it cannot become shard 6 as well (SF008)\n")
    assert install.status(shard).shard_id == 5


def test_unknown_revisions_are_refused(run_on: RunOn, database: sa.Engine) -> None:
    for command in ("upgrade", "sql"):
        error = run_on(database)("db", command, "--revision", "7777", code=1).stderr
        assert "'7777'" in error
        assert f"the newest is '{install.head()}'" in error
    assert not has_schema(database)


@pytest.mark.parametrize(
    ("table", "column", "message"),
    [
        ("nowhere", "id", "there is no table nowhere (42P01)"),
        ("no_schema.orders", "id", "there is no table no_schema.orders (42P01)"),
        ("a.b.c.d", "id", "there is no table a.b.c.d (42P01)"),
        ("a.b.c", "id", "there is no table a.b.c (42P01)"),
        ("orders", "nothing", "orders has no column nothing (SF012)"),
        ("orders", "small", "is integer, ids need bigint (SF012)\nWiden it first: ALTER TABLE public.orders"),
        ("orders; drop table orders", "id", "there is no table orders; drop table orders (42P01)"),
    ],
)
def test_set_default_refuses_what_it_cannot_change(
    run_on: RunOn, shard: sa.Engine, table: str, column: str, message: str
) -> None:
    with shard.begin() as connection:
        connection.execute(sa.text("create table orders (id bigint, small integer)"))
    result = run_on(shard)("db", "set-default", table, column, code=1)
    assert message in result.stderr
    assert result.stdout == ""
    with shard.connect() as connection:
        assert connection.scalar(sa.text("select count(*) from pg_attrdef where adrelid = 'orders'::regclass")) == 0


def test_a_shard_that_the_database_does_not_own_is_refused(run_on: RunOn, shard: sa.Engine) -> None:
    with shard.begin() as connection:
        connection.execute(sa.text("create table orders (id bigint)"))
    assert "SF009" in run_on(shard)("db", "set-default", "orders", "id", "--shard", "6", code=1).stderr


def test_grant_to_an_unknown_role_is_refused(run_on: RunOn, shard: sa.Engine) -> None:
    assert 'role "Nobody" does not exist (42704)\nCheck the name' in run_on(shard)("db", "grant", "Nobody", code=1).stderr


@pytest.mark.parametrize("words", COMMANDS_THAT_CONNECT, ids=lambda words: words[0])
def test_a_role_without_rights_is_told_which_role_has_them(
    run: Run, shard: sa.Engine, make_role: Callable[[str], str], words: list[str]
) -> None:
    with shard.begin() as connection:
        connection.execute(sa.text("create table orders (id bigint)"))
    result = run("db", *words, "--url", make_role("stranger"), code=1)
    assert "permission denied for schema shardflake (42501)\nUse the role that owns schema shardflake" in result.stderr
    assert install.check(shard) == ""


def test_a_role_that_may_not_create_schemas_cannot_install(
    run: Run, shard: sa.Engine, database: sa.Engine, make_role: Callable[[str], str]
) -> None:
    url = make_conninfo(make_role("stranger"), dbname=conninfo_to_dict(dsn(database))["dbname"])
    error = run("db", "upgrade", "--url", url, code=1).stderr
    assert "permission denied for database" in error
    assert "one that may create it" in error
    assert not has_schema(database)


def test_a_missing_libpq_is_explained() -> None:
    command = [sys.executable, "-c", "from shardflake.cli import main; main()", "db", "status"]
    environment = {**os.environ, "PSYCOPG_IMPL": "c"}  # the compiled variant, which no extra of ours installs
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: psycopg cannot be loaded (")
    assert "pip install 'shardflake[binary]'" in done.stderr


def test_a_server_that_goes_down_is_exit_code_3(request: pytest.FixtureRequest, run: Run) -> None:
    with LocalServer(request.config.getoption("--pg-bin"), {"fsync": "off"}) as server:
        run("db", "upgrade", "--url", server.url(), "--shard-id", "5")
        with blocked_upgrade(server.url(), "select pg_advisory_lock(1936287346)") as upgrade:
            server.stop("immediate")
            _, error = upgrade.communicate(timeout=30)
            assert upgrade.returncode == 3, error
            assert error.startswith("error: cannot connect: ")
        run("db", "status", "--url", server.url(), code=3)
        server.start()
        run("db", "upgrade", "--url", server.url(), "--shard-id", "5")


HOLDS = {
    "before the first statement": "select pg_advisory_lock(1936287346)",
    "in the middle": "begin; create function shardflake.decode(p_id bigint) returns int language sql return 1",
}


@pytest.mark.parametrize("hold", HOLDS)
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill"])
def test_an_interrupted_upgrade_changes_nothing_and_can_be_repeated(
    database: sa.Engine, run_on: RunOn, hold: str, end: signal.Signals
) -> None:
    with database.begin() as connection:
        connection.execute(sa.text("create schema shardflake"))
    with blocked_upgrade(dsn(database), HOLDS[hold]) as upgrade:
        upgrade.send_signal(end)
        output, error = upgrade.communicate(timeout=30)
        assert upgrade.returncode == (130 if end is signal.SIGINT else -signal.SIGKILL), error
        assert "Traceback" not in error
        assert output == ""
    wait_until_alone(database)
    with database.connect() as connection:
        for catalog, column in (("pg_proc", "pronamespace"), ("pg_class", "relnamespace")):
            count = sa.text(f"select count(*) from {catalog} where {column} = 'shardflake'::regnamespace")
            assert connection.scalar(count) == 0
    run_on(database)("db", "upgrade", "--shard-id", "5")
    assert install.check(database) == ""
    assert install.status(database).shard_id == 5


def test_an_upgrade_that_waits_for_another_gives_up_with_advice(database: sa.Engine, run_on: RunOn) -> None:
    with psycopg.connect(dsn(database), autocommit=True) as other:
        other.execute("select pg_advisory_lock(1936287346)")
        error = run_on(database)("db", "upgrade", code=1).stderr
    assert "lock timeout (55P03)\nAnother session holds a lock" in error
    assert not has_schema(database)


@contextmanager
def blocked_upgrade(url: str, hold: str) -> Iterator[subprocess.Popen[str]]:
    """Start ``shardflake db upgrade`` in a process of its own, and go on when it waits for what ``hold`` has locked."""
    # a shell that starts the tests in the background has them ignore Ctrl-C, and every program they start
    program = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from shardflake.cli import main; main()"
    command = [sys.executable, "-c", program, "db", "upgrade", "--shard-id", "5"]
    environment = {**os.environ, "SHARDFLAKE_URL": url}
    holder = psycopg.connect(url, autocommit=True)
    holder.execute(hold.encode())
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            with psycopg.connect(url, autocommit=True) as observer:
                waiting = (
                    "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
                )
                await_true(lambda: observer.execute(waiting).fetchone() == (1,))
            yield process
        finally:
            process.kill()
            holder.close()


def wait_until_alone(database: sa.Engine) -> None:
    """Wait until the server has ended the session of a client that is gone."""
    sessions = "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
    with psycopg.connect(dsn(database), autocommit=True) as observer:
        await_true(lambda: observer.execute(sessions).fetchone() == (0,))


def await_true(condition: Callable[[], bool]) -> None:
    """Ask until a condition holds, 20 seconds at most."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in 20 seconds"
        time.sleep(0.05)


def has_schema(database: sa.Engine) -> bool:
    """Whether the database has a schema shardflake."""
    with database.connect() as connection:
        return connection.scalar(sa.text("select to_regnamespace('shardflake')")) is not None
