"""docs/time-ranges.md: everything in it runs."""

from __future__ import annotations

import subprocess
import sys

import psycopg
import sqlalchemy as sa

from shardflake.server import LocalServer
from tests.conftest import Server
from tests.docs.test_pages import ROOT, blocks
from tests.orm.conftest import driver_url

TIME_RANGES = (ROOT / "docs" / "time-ranges.md").read_text()

PREAMBLE = """
import sys
from sqlalchemy import create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session
from shardflake.sqlalchemy import ShardflakePK

class Base(DeclarativeBase):
    pass

class Order(Base):
    __tablename__ = "orders"
    id: Mapped[ShardflakePK]
    item: Mapped[str]

engine = create_engine(sys.argv[1])
session = Session(engine)
"""


def test_the_sql_runs(connection: psycopg.Connection, server: Server, local_server: LocalServer) -> None:
    for block in blocks(TIME_RANGES, "sql"):
        if "\\gexec" in block:
            if server is local_server:
                detach_with_psql(connection, local_server, block)
            continue
        for statement in block.split(";\n"):
            if statement.strip():
                connection.execute(statement)
        if "create table feeds" in block:
            connection.execute("insert into feeds (name) values ('billing')")
            connection.execute("insert into orders (item) select 'x' from generate_series(1, 10)")
        if "from feeds f join" in block:
            assert len(connection.execute(block).fetchall()) == 10


def detach_with_psql(connection: psycopg.Connection, local_server: LocalServer, block: str) -> None:
    connection.execute("select shardflake.create_partitions('orders', 'month', 0, now() - interval '5 months')")
    before = len(connection.execute("select * from shardflake.partitions('orders')").fetchall())
    psql = [str(local_server.bin_dir / "psql"), "-X", "-v", "ON_ERROR_STOP=1", "-d", connection.info.dsn]
    subprocess.run(psql, input=block, text=True, capture_output=True, check=True)
    left = connection.execute(
        "select min(until_time) > now() - interval '90 days' from shardflake.partitions('orders')"
    ).fetchone()
    assert left == (True,)
    assert before > len(connection.execute("select * from shardflake.partitions('orders')").fetchall()) > 0


def test_the_python_of_time_ranges_runs(shard: sa.Engine, connection: psycopg.Connection) -> None:
    connection.execute("create table orders (id bigint primary key default shardflake.next_id(), item text not null)")
    connection.execute("insert into orders (item) select 'x' from generate_series(1, 10)")
    pages, feed, _ = blocks(TIME_RANGES, "python")  # the third needs a standby: tests/reliability/test_standby_feed.py runs it
    check = "assert (len(following), len(preceding), len(newest)) == (10, 0, 10)\nassert position == newest[0].id\n"
    url = driver_url(shard, "psycopg").render_as_string(hide_password=False)
    command = [sys.executable, "-c", PREAMBLE + pages + feed + check, url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
