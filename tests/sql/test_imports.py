"""Imports: several at once, stopped, crashed and run again, and of a real store."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
import sqlalchemy as sa

from shardflake import install
from shardflake.connect import make_engine
from shardflake.server import LocalServer
from tests.conftest import dsn
from tests.docs.test_pages import ROOT, blocks
from tests.orm.test_chinook import STORE, load
from tests.reliability.attack import replace_function
from tests.sql.test_backfill import MIDNIGHT, backfill
from tests.sql.test_functions import scalar
from tests.sql.test_generator import refused

__all__ = ["backfill"]

IMPORT = next(block for block in blocks((ROOT / "docs" / "backfill.md").read_text(), "sql") if block.startswith("do $$"))
TABLES = """
create table old_orders (id integer primary key, created_at timestamptz not null, item text not null);
create table orders (id bigint primary key default shardflake.next_id(), old_id integer unique, item text not null);
insert into old_orders
select n, '2025-02-01 00:00+00'::timestamptz + (n / 100) * interval '7 minutes 0.0123 s', 'item ' || n
  from generate_series(1, {rows}) n;
create index on old_orders (created_at, id);
"""

ROTATING = [
    ("coalesce(v_mark.last_id >> v_time_shift << v_counter_bits | (v_mark.last_id >> v_counter_shift & v_counters), -1)",
     "-1"),
    ("return next v_position",
     "v_position := v_position & ~v_counters | (nextval('public.rotating') & v_counters); return next v_position"),
    ("v_last_time := greatest(v_mark.last_time, shardflake.timestamp_of(0))", "v_last_time := shardflake.timestamp_of(0)"),
]  # fmt: skip
UNLOCKED = [
    (" for update;", ";"),
    ("v_last_time := greatest(", "perform pg_sleep(0.01); v_last_time := greatest("),
]


@pytest.mark.parametrize(
    ("changes", "sound"), [([], True), (ROTATING, False), (UNLOCKED, False)], ids=["as it is", "rotating counter", "no lock"]
)
def test_importers_at_once_beside_live_inserts(
    shard: sa.Engine, backfill: psycopg.Connection, changes: list[tuple[str, str]], sound: bool
) -> None:
    """Four importers of one shard id and one time, two of shard ids of their own, and live inserts, all into one table."""
    backfill.execute("select shardflake.reserve_backfill_shards('{901, 902}'); create sequence public.rotating")
    backfill.execute("create table orders (id bigint default shardflake.next_id(), importer integer)")
    if changes:
        replace_function(backfill, "backfill_ids(integer,timestamptz[])", *changes)
    importing = threading.Event()

    def run(number: int) -> None:
        name = f"importer {number}"
        with psycopg.connect(dsn(shard), autocommit=True, application_name=name) as connection:
            for batch in range(30):
                connection.execute(
                    "insert into orders select i, %s from shardflake.backfill_ids(%s, array_fill(%s::timestamptz, '{200}')) i",
                    (number, 900 + max(0, number - 3), MIDNIGHT + timedelta(seconds=batch) * (number > 3)),
                )

    def live() -> None:
        with psycopg.connect(dsn(shard), autocommit=True) as connection:
            while not importing.is_set():
                connection.execute("insert into orders (importer) select 9 from generate_series(1, 200)")

    with ThreadPoolExecutor(8) as executor:
        selling = executor.submit(live)
        list(executor.map(run, range(6)))
        importing.set()
        selling.result()
    query = """
        select count(*) filter (where importer < 9), count(*) filter (where importer = 9) > 0, count(*) = count(distinct id)
          from orders
    """
    assert backfill.execute(query).fetchone() == (36_000, True, sound)


def prepare(url: str, rows: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(TABLES.replace("{rows}", str(rows)).encode())
        connection.execute("select shardflake.reserve_backfill_shards('{900}')")


def import_orders(url: str, batch: int = 10_000) -> None:
    """Run the import of docs/backfill.md."""
    assert "limit 10000" in IMPORT
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("set synchronous_commit = off")
        connection.execute(IMPORT.replace("limit 10000", f"limit {batch}").encode())


def assert_sound(url: str, rows: int) -> None:
    query = """
        select count(*), count(*) filter (where n.item <> o.item),
               count(*) filter (where shardflake.timestamp_of(n.id) <> date_trunc('milliseconds', o.created_at)),
               count(*) filter (where n.before > n.id)
          from (select *, lag(n.id) over (order by old_id) as before from orders n) n join old_orders o on o.id = n.old_id
    """
    with psycopg.connect(url) as connection:
        assert connection.execute(query).fetchone() == (rows, 0, 0, 0)


def test_the_import_of_the_page_is_stopped_and_run_again(shard: sa.Engine) -> None:
    url = dsn(shard)
    prepare(url, 20_000)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("alter table orders add check (old_id < 9000)")
        with pytest.raises(psycopg.errors.CheckViolation):
            import_orders(url, 500)
        assert 8000 < scalar(connection, "select count(*) from orders") < 9000
        connection.execute("alter table orders drop constraint orders_old_id_check")
    import_orders(url, 700)
    import_orders(url)  # nothing is left
    assert_sound(url, 20_000)


@pytest.fixture
def crashing(request: pytest.FixtureRequest, local_server: LocalServer) -> Iterator[LocalServer]:
    """A server with durable writes and shard 5 in database postgres."""
    server = LocalServer(request.config.getoption("--pg-bin"), {"shared_buffers": "64MB", "log_min_messages": "fatal"})
    try:
        server.create().start()
        install.upgrade(make_engine(server.url()), shard_id=5)
        yield server
    finally:
        server.remove()


def crash_an_import(server: LocalServer, rows: int, after: int) -> None:
    """Stop the server while it imports, once more than so many rows are committed."""
    with ThreadPoolExecutor(1) as executor:
        running = executor.submit(import_orders, server.url(), 200)
        with psycopg.connect(server.url(), autocommit=True) as connection:
            while scalar(connection, "select count(*) from orders") <= after:
                assert not running.done()
        server.stop("immediate")
        with pytest.raises(psycopg.OperationalError):
            running.result()
    server.start()
    with psycopg.connect(server.url(), autocommit=True) as connection:
        assert scalar(connection, "select count(*) from orders") < rows
        mark = scalar(connection, "select last_id from shardflake._backfill")
        assert mark == scalar(connection, "select max(id) from orders")


def test_crashes_in_the_middle_of_an_import(crashing: LocalServer) -> None:
    rows = 100_000
    prepare(crashing.url(), rows)
    for after in (5_000, 25_000):
        crash_an_import(crashing, rows, after)
    import_orders(crashing.url())
    assert_sound(crashing.url(), rows)


def test_a_mark_that_a_crash_loses_would_be_noticed(crashing: LocalServer) -> None:
    """The control: had the crash taken the mark and left the rows, ids would come again; and a lost row is refused."""
    prepare(crashing.url(), 100_000)
    crash_an_import(crashing, 100_000, 5_000)
    with psycopg.connect(crashing.url(), autocommit=True) as connection:
        connection.execute("update shardflake._backfill set last_id = null, last_time = null")
        with pytest.raises(psycopg.errors.UniqueViolation):
            import_orders(crashing.url())
        connection.execute("delete from shardflake._backfill")
        refused(connection, "select shardflake.reserve_backfill_shards('{900}')", "SF050", "how far it has come was dropped")


def test_a_real_store(make_database: Callable[..., sa.Engine], installed_template: str) -> None:
    """Chinook's invoices and their lines, with the times of the invoices, in a layout whose epoch is 2009."""
    if not STORE.exists():
        pytest.skip("the Chinook sample database is not beside the checkout")
    engine = make_database(installed_template)
    with psycopg.connect(dsn(engine), autocommit=True) as connection:
        for statement in blocks((ROOT / "docs" / "backfill.md").read_text(), "sql")[:2]:
            connection.execute(statement.encode())
    load(engine)
    script = """
        create table invoices (id bigint primary key default shardflake.next_id(), old_id integer unique, total numeric);
        create table lines (
          id bigint primary key default shardflake.next_id(), old_id integer unique, invoice_id bigint references invoices
        );
        insert into invoices
        select i.id, o.invoice_id, o.total
          from (select *, row_number() over (order by invoice_date, invoice_id) as n from public.invoice) o
          join shardflake.backfill_ids(
                 900, (select array_agg(invoice_date at time zone 'UTC' order by invoice_date, invoice_id) from public.invoice)
               ) with ordinality as i (id, n) using (n);
        insert into lines
        select i.id, o.invoice_line_id, o.parent
          from (select l.*, v.id as parent, row_number() over (order by v.id, l.invoice_line_id) as n
                  from public.invoice_line l join invoices v on v.old_id = l.invoice_id) o
          join shardflake.backfill_ids(
                 901, (select array_agg(shardflake.timestamp_of(v.id) order by v.id, l.invoice_line_id)
                         from public.invoice_line l join invoices v on v.old_id = l.invoice_id)
               ) with ordinality as i (id, n) using (n);
        insert into lines (old_id, invoice_id) select null, min(id) from invoices;
    """
    with psycopg.connect(dsn(engine), autocommit=True) as connection:
        connection.execute("set search_path = public")
        connection.execute(script.encode())
        times = """
            select count(*), bool_and(shardflake.timestamp_of(i.id) = o.invoice_date at time zone 'UTC'),
                   min(shardflake.timestamp_of(i.id))
              from invoices i join public.invoice o on o.invoice_id = i.old_id
        """
        assert connection.execute(times.encode()).fetchone() == (412, True, datetime(2021, 1, 1, tzinfo=UTC))
        lines = """
            select count(*), count(distinct l.id),
                   bool_and(l.old_id is null or shardflake.timestamp_of(l.id) = shardflake.timestamp_of(l.invoice_id)),
                   count(*) filter (where shardflake.shard_of(l.id) = 901),
                   count(*) filter (where shardflake.shard_of(l.id) = 5)
              from lines l
        """
        assert connection.execute(lines.encode()).fetchone() == (2241, 2241, True, 2240, 1)
        day = "id >= shardflake.min_id('2022-03-01 00:00+00') and id < shardflake.min_id('2022-04-01 00:00+00')"
        old_day = "invoice_date >= '2022-03-01' and invoice_date < '2022-04-01'"
        wanted = scalar(connection, f"select count(*) from public.invoice where {old_day}")
        assert scalar(connection, f"select count(*) from invoices where {day}") == wanted > 0
