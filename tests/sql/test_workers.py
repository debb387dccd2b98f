"""What the SQL of the worker leases promises: one holder at a time, marks that ascend, ranges that no shard is in."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg.rows import namedtuple_row

from shardflake import install
from tests.conftest import dsn
from tests.reliability.attack import replace_function
from tests.sql.test_generator import refused

CLAIM = "select * from shardflake.claim_worker(%s, worker => %s)"
RENEW = "select * from shardflake.renew_worker(%s, %s, %s, %s)"


@pytest.fixture
def leases(shard: sa.Engine) -> Iterator[psycopg.Connection[Any]]:
    """A connection to shard 5, which leases workers 7000 to 7003 for a second at a time."""
    with psycopg.connect(dsn(shard), autocommit=True, row_factory=namedtuple_row) as connection:
        connection.execute("select shardflake.reserve_worker_ids(7000, 7003, '1 s')")
        yield connection


def claim(connection: psycopg.Connection[Any], holder: str = "me", worker: int | None = None) -> Any:
    return connection.execute(CLAIM, (holder, worker)).fetchone()


def renew(connection: psycopg.Connection[Any], lease: Any, high_water: int = 0, used: int = 0) -> Any:
    return connection.execute(RENEW, (lease.worker_id, lease.token, high_water, used)).fetchone()


def test_the_lowest_free_id_is_leased_until_none_is_left(leases: psycopg.Connection[Any]) -> None:
    made = [claim(leases, f"holder {number}") for number in range(4)]
    assert [lease.worker_id for lease in made] == [7000, 7001, 7002, 7003]
    none = claim(leases)
    assert none.worker_id is None
    assert 0 < none.retry_ms <= 1001
    leases.execute("select shardflake.release_worker(%s, %s, %s)", (7002, made[2].token, made[2].floor_ms))
    assert claim(leases).worker_id == 7002
    listed = leases.execute("select worker_id, holder, live from shardflake.workers()").fetchall()
    assert listed[1] == (7001, "holder 1", True)


def test_the_next_holder_starts_at_the_mark_of_the_last(leases: psycopg.Connection[Any]) -> None:
    first = claim(leases, worker=7000)
    renewed = renew(leases, first, first.high_water_ms, first.high_water_ms + 500)
    assert renewed.high_water_ms == first.high_water_ms + 1500
    time.sleep(1.1)
    second = claim(leases, worker=7000)
    assert second.floor_ms >= renewed.high_water_ms
    assert second.high_water_ms == second.floor_ms + 1000


@pytest.mark.parametrize(("used", "lowered"), [(400, 400), (-5000, 0), (5000, 1000)])
def test_a_release_lowers_the_mark_to_what_was_used_and_no_further(
    leases: psycopg.Connection[Any], used: int, lowered: int
) -> None:
    lease = claim(leases, worker=7000)
    release = "select shardflake.release_worker(%s, %s, %s) as released"
    assert leases.execute(release, (7000, lease.token, lease.floor_ms + used)).fetchone() == (True,)
    assert leases.execute(release, (7000, lease.token, lease.floor_ms)).fetchone() == (False,)
    mark = leases.execute("select high_water from shardflake._worker").fetchone()
    assert mark == (lease.floor_ms + lowered,)


def test_what_has_run_out_is_not_renewed(leases: psycopg.Connection[Any]) -> None:
    lease = claim(leases)
    assert renew(leases, lease).ttl_ms == 1000
    refused(leases, f"select shardflake.renew_worker(7000, '{'0' * 32}', 0, 0)", "SF032", "lease of worker 7000 is over")
    time.sleep(1.1)
    refused(leases, f"select shardflake.renew_worker(7000, '{lease.token}', 0, 0)", "SF032", "lease of worker 7000 is over")


def test_a_second_live_holder_of_a_certain_id_is_refused(leases: psycopg.Connection[Any]) -> None:
    claim(leases, "web-1", 7001)
    refused(leases, "select shardflake.claim_worker('web-2', worker => 7001)", "SF031", "worker 7001 is held by 'web-1'")
    assert claim(leases).worker_id == 7000


@pytest.mark.parametrize("locked", [True, False], ids=["as it is", "without the lock"])
def test_claims_at_once_get_different_ids(leases: psycopg.Connection[Any], shard: sa.Engine, locked: bool) -> None:
    leases.execute("select shardflake.reserve_worker_ids(7000, 7031, '1 s')")
    slow = "worker_id := v_candidate;", "perform pg_sleep(0.05); worker_id := v_candidate;"
    lock = ("_worker_terms for update;", "_worker_terms;")
    replace_function(leases, "claim_worker(text,integer)", slow, *([] if locked else [lock]))

    def one(number: int) -> int:
        with psycopg.connect(dsn(shard), autocommit=True, row_factory=namedtuple_row) as connection:
            return int(claim(connection, str(number)).worker_id)

    with ThreadPoolExecutor(8) as executor:
        workers = list(executor.map(one, range(16)))
    assert (len(set(workers)) == 16) == locked


def test_a_renewal_under_way_keeps_its_id(leases: psycopg.Connection[Any], shard: sa.Engine) -> None:
    lease = claim(leases)
    with psycopg.connect(dsn(shard), row_factory=namedtuple_row) as other:
        renew(other, lease)
        time.sleep(1.1)  # over by what is committed, and by the renewal
        assert claim(leases).worker_id == 7001
        other.commit()
    assert claim(leases).worker_id == 7000


def test_shards_and_workers_never_overlap(leases: psycopg.Connection[Any], shard: sa.Engine) -> None:
    refused(leases, "select shardflake.reserve_worker_ids(0, 5)", "SF030", "shard 5 of this database lies in")
    refused(leases, "select shardflake.reserve_worker_ids(8000, 8192)", "SF030", "not within 0 to 8191")
    refused(
        leases, "select shardflake.assign_shard(5, logical_shards => '{7003}')", "SF007", "shard id 7003 is one of the worker"
    )
    refused(leases, "select shardflake.assign_shard(7000, replace => true)", "SF007", "shard id 7000 is one of the worker")
    refused(leases, "select shardflake.claim_worker('me', worker => 7004)", "SF030", "worker 7004 is not one of the reserved")
    assert install.check(shard) == ""  # the range is no drift
    claim(leases, worker=7003)
    refused(leases, "select shardflake.reserve_worker_ids(7000, 7002, '1 s')", "SF031", "worker 7003 is leased")
    refused(leases, "select shardflake.reserve_worker_ids(7000, 7003, '5 s')", "SF031", "worker 7003 is leased")
    leases.execute("select shardflake.reserve_worker_ids(6000, 7003, '1 s')")
    leases.execute("select shardflake.assign_shard(5, logical_shards => '{7004}')")


def test_nothing_is_leased_before_ids_are_reserved(connection: psycopg.Connection) -> None:
    refused(connection, "select shardflake.claim_worker('me')", "SF030", "worker NULL is not one of the reserved ids empty")
    refused(connection, "select shardflake.claim_worker('')", "SF030", "holder '' is not a text")


def test_another_incarnation_waits_until_forgotten_leases_are_over(leases: psycopg.Connection[Any]) -> None:
    lease = claim(leases)
    leases.execute("update shardflake._worker_terms set incarnation = 'the one before the failover'")
    waiting = claim(leases)
    assert waiting.worker_id is None
    assert 1900 < waiting.retry_ms <= 2001
    assert renew(leases, lease, lease.high_water_ms + 700).high_water_ms >= lease.high_water_ms + 700  # it goes on meanwhile
    time.sleep(waiting.retry_ms / 1000)
    assert claim(leases).worker_id == 7000


def test_a_clock_that_was_set_back_gives_each_holder_one_more_lease(leases: psycopg.Connection[Any]) -> None:
    claim(leases)
    leases.execute(
        "update shardflake._worker set expires_at = expires_at + interval '1 hour', high_water = high_water + 3600000"
    )
    assert claim(leases).worker_id == 7001
    time.sleep(1.1)
    assert claim(leases).worker_id == 7001  # rather than wait for the mark of 7000
    late = claim(leases, worker=7000)
    assert late.floor_ms > late.server_us // 1000 + 3500_000


def test_a_copy_of_the_database_leases_nothing(leases: psycopg.Connection[Any]) -> None:
    leases.execute("alter sequence shardflake._window restart")
    refused(leases, "select shardflake.claim_worker('me')", "SF002", "are a copy")


def test_a_lease_is_durable_whatever_the_session_says(shard: sa.Engine, leases: psycopg.Connection[Any]) -> None:
    with psycopg.connect(dsn(shard)) as connection:
        connection.execute("set synchronous_commit = off")
        connection.commit()
        connection.execute(CLAIM, ("me", None))
        assert connection.execute("show synchronous_commit").fetchone() == ("on",)


def test_a_role_may_lease_and_nothing_else(leases: psycopg.Connection[Any]) -> None:
    leases.execute("create role leaser")
    try:
        leases.execute("select shardflake.grant_worker_usage('leaser')")
        leases.execute("set role leaser")
        assert claim(leases).worker_id == 7000
        for statement in ("select token from shardflake._worker", "update shardflake._worker_terms set ttl = '1 h'"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                leases.execute(statement)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            leases.execute("select shardflake.reserve_worker_ids(1, 2)")
    finally:
        leases.execute("reset role")
        leases.execute("drop owned by leaser")
        leases.execute("drop role leaser")


def test_the_downgrade_refuses_while_a_lease_is_live(shard: sa.Engine, leases: psycopg.Connection[Any]) -> None:
    lease = claim(leases, "web-1")
    with pytest.raises(Exception, match=r"workers are leased: 7000 \(web-1\)"):
        install.downgrade(shard, "0001")
    leases.execute("select shardflake.release_worker(%s, %s, 0)", (7000, lease.token))
    install.downgrade(shard, "0001")
    leases.execute("select shardflake.assign_shard(5, logical_shards => '{7000}')")
    assert install.upgrade(shard) == install.head()
    assert install.check(shard) == ""
