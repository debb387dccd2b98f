"""A role with the grant can insert and nothing more, whatever it puts in the way of names."""

from __future__ import annotations

import os
from collections.abc import Iterator

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql

from shardflake import install
from tests.conftest import dsn
from tests.sql.test_functions import scalar

STATE = ("_window", "_high_water", "_incarnation", "_opened", "_peak")

# Shadows of what the generator calls, in front of pg_catalog: each writes down as whom it ran.
SHADOWS = """
create schema trap;
create table trap.seen (who name);
grant usage on schema trap to public;
grant insert, select on trap.seen to public;
create function trap.note() returns void language sql volatile as $$ insert into trap.seen values (current_user) $$;
create function trap.shift(bigint, integer) returns bigint language plpgsql volatile as $$
begin
  perform trap.note();
  return 0;
end $$;
create operator trap.>> (leftarg = bigint, rightarg = integer, function = trap.shift);
create operator trap.<< (leftarg = bigint, rightarg = integer, function = trap.shift);
create function trap.nextval(regclass) returns bigint language plpgsql volatile as $$
begin
  perform trap.note();
  return 0;
end $$;
create function trap.clock_timestamp() returns timestamptz language plpgsql volatile as $$
begin
  perform trap.note();
  return 'epoch';
end $$;
create function trap.greatest_of(bigint, bigint) returns bigint language sql as $$ select 0::bigint $$;
"""


@pytest.fixture
def role(shard: sa.Engine) -> Iterator[sql.Identifier]:
    """A role that may insert into the table ``orders`` and use the generator; its name needs quoting."""
    name = f"Sf App {os.getpid()}"
    identifier = sql.Identifier(name)
    with psycopg.connect(dsn(shard), autocommit=True) as admin:
        admin.execute("create table orders (id bigint default shardflake.next_id(), n integer)")
        admin.execute(sql.SQL("create role {}; grant insert, select on orders to {}").format(identifier, identifier))
        install.grant(shard, name)
        yield identifier
        admin.execute(sql.SQL("drop owned by {}; drop role {}").format(identifier, identifier))


@pytest.fixture
def application(shard: sa.Engine, role: sql.Identifier) -> Iterator[psycopg.Connection]:
    """A session of that role."""
    with psycopg.connect(dsn(shard), autocommit=True) as connection:
        connection.execute(sql.SQL("set role {}").format(role))
        yield connection


def test_a_role_without_the_grant_cannot_draw(shard: sa.Engine, connection: psycopg.Connection) -> None:
    role = sql.Identifier(f"sf_nobody_{os.getpid()}")
    connection.execute("create table orders (id bigint default shardflake.next_id(), n integer)")
    connection.execute(sql.SQL("create role {}; grant insert on orders to {}; set role {}").format(role, role, role))
    try:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("insert into orders (n) values (1)")
    finally:
        connection.execute("reset role")
        connection.execute(sql.SQL("drop owned by {}; drop role {}").format(role, role))


def test_a_role_with_the_grant_inserts_reads_and_sees_the_status(application: psycopg.Connection) -> None:
    application.execute("insert into orders (n) select generate_series(1, 5000)")
    assert scalar(application, "select count(distinct id) from orders") == 5000
    assert scalar(application, "select count(*) from shardflake.next_ids(2000)") == 2000
    assert scalar(application, "select shardflake.shard_of(shardflake.next_id(5))") == 5
    assert scalar(application, "select identity from shardflake.status()") == "confirmed"


@pytest.mark.parametrize(
    "attempt",
    [
        *(f"select setval('shardflake.{name}', 1)" for name in STATE),
        *(f"alter sequence shardflake.{name} restart" for name in STATE),
        *(f"select nextval('shardflake.{name}')" for name in STATE if name != "_window"),
        "drop sequence shardflake._window cascade",
        "truncate shardflake._flush",
        "insert into shardflake._flush values ('x')",
        "select shardflake.assign_shard(6)",
        "select shardflake.assign_shard(5, max_lead => '1 hour')",
        "select * from shardflake.confirm_identity()",
        "select shardflake._arm()",
        "select shardflake._flush_wal()",
        "select shardflake._check_identity()",
        "select shardflake.set_id_default('orders', 'id')",
        "select shardflake.drop_id_default('orders', 'id')",
        "select shardflake.grant_usage('pg_monitor')",
        "create or replace function shardflake.shard_id() returns integer language sql stable parallel safe return 1",
        "create function shardflake.trap() returns integer language sql return 1",
    ],
)
def test_it_cannot_move_the_generators_state(application: psycopg.Connection, attempt: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        application.execute(attempt)


@pytest.mark.parametrize("count", ["0", "-1", "102401", "2147483647", "null"])
def test_forged_arguments_of_the_slow_path_are_refused(application: psycopg.Connection, count: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        application.execute(f"select shardflake._open_window({count})")
    assert caught.value.sqlstate == "SF010"


def test_calling_the_slow_path_directly_gives_fresh_draws_only(application: psycopg.Connection) -> None:
    query = "select array_agg(shardflake._open_window(1 + mod(n, 2))) from generate_series(1, 2000) n"
    draws = scalar(application, query)
    assert draws == sorted(set(draws))


def test_wasted_draws_void_counters_and_nothing_else(application: psycopg.Connection) -> None:
    """USAGE allows nextval(): a role that floods the window only makes the others open the next one."""
    application.execute("insert into orders (n) values (1)")
    application.execute("select count(nextval('shardflake._window')) from generate_series(1, 300000)")
    application.execute("insert into orders (n) select generate_series(1, 2000)")
    assert scalar(application, "select count(distinct id) from orders") == 2001
    assert scalar(application, "select max(shardflake.counter_of(id)) from orders") <= 1023


def test_shadowed_names_change_nothing_and_nothing_runs_as_the_owner(
    shard: sa.Engine, application: psycopg.Connection, role: sql.Identifier
) -> None:
    with psycopg.connect(dsn(shard), autocommit=True) as admin:
        admin.execute(SHADOWS)
    application.execute("set search_path = trap, pg_catalog, public")
    application.execute("create temporary sequence _window; create temporary table pg_class (oid integer)")
    application.execute("insert into orders (n) select generate_series(1, 3000)")
    application.execute("select count(*) from shardflake.next_ids(5000)")
    application.execute("select shardflake._open_window(1) from generate_series(1, 100)")
    application.execute("select * from shardflake.status(), shardflake.decode(5120), shardflake.id_columns()")
    assert scalar(application, "select count(distinct id) from orders") == 3000
    assert scalar(application, "select count(*) from trap.seen") == 0
    application.execute("select clock_timestamp(), 1::bigint >> 1")  # the control: the trap is set
    assert scalar(application, "select count(*) from trap.seen") == 2


def test_the_trap_catches_a_definer_function_without_a_search_path(shard: sa.Engine, application: psycopg.Connection) -> None:
    """The control: the same body, unprotected, runs the caller's operator as the owner."""
    with psycopg.connect(dsn(shard), autocommit=True) as admin:
        admin.execute(SHADOWS)
        admin.execute(
            "create function public.unprotected(p bigint) returns bigint language plpgsql security definer as "
            "$$ begin return p >> 23; end $$"
        )
        owner = scalar(admin, "select current_user")
    application.execute("set search_path = trap, pg_catalog, public")
    application.execute("select unprotected(1)")
    assert scalar(application, "select who from trap.seen") == owner


def test_every_definer_function_is_protected(connection: psycopg.Connection) -> None:
    query = """
        select proname, proconfig from pg_proc
         where pronamespace = 'shardflake'::regnamespace and prosecdef
    """
    rows = connection.execute(query).fetchall()
    assert {row[0] for row in rows} == {
        "_open_window",
        "feed_horizon",
        "status",
        *("claim_worker", "renew_worker", "release_worker", "workers"),
        *("lease_tickets", "next_invoice_number", "tickets"),
        *("backfill_ids", "backfills"),
    }
    assert all("search_path=pg_catalog, pg_temp" in row[1] for row in rows)
