"""Reading, making and bounding ids in SQL: exact values or a clear error, and the same as in Python."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row, scalar_row

import shardflake
from shardflake.layout import MAX_ID

EPOCH = datetime(2025, 1, 1, tzinfo=UTC)
END = EPOCH + timedelta(milliseconds=2**40 - 1)


def scalar(connection: psycopg.Connection, query: str, *parameters: object) -> Any:
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute(query, parameters).fetchone()


@pytest.mark.parametrize(
    ("time", "shard_id", "counter", "value"),
    [
        (EPOCH, 0, 0, 0),
        (EPOCH, 8191, 1023, 2**23 - 1),
        (EPOCH + timedelta(milliseconds=1), 0, 0, 2**23),
        (EPOCH + timedelta(microseconds=1999), 1, 2, 2**23 + 1026),
        (END, 0, 0, (2**40 - 1) << 23),
        (END, 8191, 1023, MAX_ID),
    ],
)
def test_ids_at_the_edges(connection: psycopg.Connection, time: datetime, shard_id: int, counter: int, value: int) -> None:
    assert scalar(connection, "select shardflake.make_id(%s, %s, %s)", time, shard_id, counter) == value
    assert shardflake.make_id(time, shard_id, counter) == value
    row = connection.execute("select * from shardflake.decode(%s)", (value,)).fetchone()
    assert row is not None
    assert shardflake.decode(value) == shardflake.DecodedId(row[0], row[1], row[2])
    assert (row[1], row[2]) == (shard_id, counter)
    accessors = "select shardflake.timestamp_of(%(id)s), shardflake.shard_of(%(id)s), shardflake.counter_of(%(id)s)"
    assert connection.execute(accessors, {"id": value}).fetchone() == row


@pytest.mark.parametrize(
    ("query", "parameters", "message", "hint"),
    [
        ("select shardflake.make_id(%s, 0, 0)", [EPOCH - timedelta(microseconds=1)], "hold the time 2024-12-31", "2059-11-04"),
        ("select shardflake.make_id(%s, 0, 0)", [END + timedelta(milliseconds=1)], "hold the time 2059-11-04", "2025-01-01"),
        ("select shardflake.min_id('infinity')", [], "no id can hold the time infinity", "2059-11-04"),
        ("select shardflake.max_id('-infinity')", [], "no id can hold the time -infinity", "2059-11-04"),
        ("select shardflake.make_id(%s, 8192, 0)", [EPOCH], "shard id 8192 does not fit", "0 to 8191"),
        ("select shardflake.make_id(%s, -1, 0)", [EPOCH], "shard id -1 does not fit", "0 to 8191"),
        ("select shardflake.make_id(%s, 0, 1024)", [EPOCH], "counter 1024 does not fit", "0 to 1023"),
        ("select shardflake.make_id(%s, 0, -1)", [EPOCH], "counter -1 does not fit", "0 to 1023"),
        ("select shardflake.decode(-1)", [], "-1 is not an id", "no id was ever negative"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(
    connection: psycopg.Connection, query: str, parameters: list[Any], message: str, hint: str
) -> None:
    with pytest.raises(psycopg.Error, match=message) as caught:
        connection.execute("set timezone = 'UTC'; " + query if not parameters else query, parameters or None)
    assert caught.value.sqlstate == "SF011"
    assert hint in (caught.value.diag.message_hint or "")


def test_bounds_agree_with_python_for_random_instants_near_millisecond_edges(connection: psycopg.Connection) -> None:
    generator = random.Random(20250101)
    instants = [
        EPOCH
        + timedelta(milliseconds=generator.randrange(2**40 - 1), microseconds=generator.choice([0, 1, 499, 500, 600, 998, 999]))
        for _ in range(100_000)
    ]
    query = (
        "select shardflake.min_id(t), shardflake.max_id(t) from unnest(%s::timestamptz[]) with ordinality u (t, n) order by n"
    )
    rows = connection.execute(query, (instants,)).fetchall()
    assert rows == [(shardflake.min_id(instant), shardflake.max_id(instant)) for instant in instants]


def test_reading_agrees_with_python_for_random_ids(connection: psycopg.Connection) -> None:
    generator = random.Random(7)
    ids = [generator.randrange(2**63) for _ in range(100_000)]
    query = (
        "select shardflake.timestamp_of(i), shardflake.shard_of(i), shardflake.counter_of(i), "
        "shardflake.make_id(shardflake.timestamp_of(i), shardflake.shard_of(i), shardflake.counter_of(i)) = i "
        "from unnest(%s::bigint[]) with ordinality u (i, n) order by n"
    )
    for value, row in zip(ids, connection.execute(query, (ids,)), strict=True):
        decoded = shardflake.decode(value)
        assert row == (decoded.time, decoded.shard, decoded.counter, True)


def test_a_time_of_an_id_is_not_rounded_up(connection: psycopg.Connection) -> None:
    assert scalar(connection, "select shardflake.timestamp_of(shardflake.min_id('2033-05-18 03:33:20.0006+00'))") == datetime(
        2033, 5, 18, 3, 33, 20, tzinfo=UTC
    )
    half_way = "with clock as (select clock_timestamp() as a, shardflake._tick() as t, clock_timestamp() as b) "
    inside = half_way + "select shardflake._tick_at(a) <= t and t <= shardflake._tick_at(b) from clock"
    assert all(scalar(connection, inside) for _ in range(2_000))


def test_pure_functions_are_inlined_and_bounds_folded(connection: psycopg.Connection) -> None:
    connection.execute("create table t (id bigint primary key)")
    query = (
        "explain (verbose, costs off) "
        "select shardflake.timestamp_of(id), shardflake.shard_of(id), shardflake.counter_of(id) from t "
        "where id >= shardflake.min_id('2026-01-01 00:00+00') and id < shardflake.min_id('2026-01-02 00:00+00')"
    )
    connection.execute("set enable_seqscan = off; set enable_bitmapscan = off")
    plan = "\n".join(row[0] for row in connection.execute(query))
    assert "shardflake." not in plan, plan
    assert "Index Cond: ((t.id >= '264543141888000000'::bigint) AND (t.id < '265267917619200000'::bigint))" in plan


def test_next_id_is_inlined_into_a_default(connection: psycopg.Connection) -> None:
    connection.execute("create table t (id bigint default shardflake.next_id(), n integer)")
    plan = "\n".join(row[0] for row in connection.execute("explain (verbose) insert into t (n) select generate_series(1, 3)"))
    assert "nextval('shardflake._window'::regclass)" in plan
    assert "next_id" not in plan


def test_every_function_is_labelled_and_commented(connection: psycopg.Connection) -> None:
    pure = {"timestamp_of", "shard_of", "counter_of", "decode", "min_id", "max_id", "make_id", "epoch_ms", "_tick_at"} | {
        "_preset", "_id_tick_ms", "_id_time_bits", "_id_time_shift", "_id_shard_bits", "_id_shard_shift", "_id_counter_bits",
        "_id_counter_shift", "_base32", "_time_of_unix_ms", "_unix_ms", "ulid_time", "ulid_to_uuid", "uuid_to_ulid",
        "uuid_v7_bounds", "uuid_v7_time",
    }  # fmt: skip
    query = """
        select p.proname, p.provolatile, p.proisstrict, p.proparallel, p.proconfig, obj_description(p.oid) as comment, l.lanname
          from pg_proc p join pg_language l on l.oid = p.prolang where p.pronamespace = 'shardflake'::regnamespace
    """
    with connection.cursor(row_factory=dict_row) as cursor:
        functions = cursor.execute(query).fetchall()
    assert len(functions) == 105
    for function in functions:
        name = function["proname"]
        assert function["comment"], name
        expected = "i" if name in pure | {"_is_window_file"} else "sv"
        assert function["provolatile"] in expected, name
        assert function["proisstrict"] == (name in pure), name
        assert function["proparallel"] == "s" if name in pure else True, name
        if function["lanname"] == "plpgsql":
            assert "search_path=pg_catalog, pg_temp" in function["proconfig"], name


def test_signatures_stay(connection: psycopg.Connection) -> None:
    """Names and types that callers may rely on; a change here breaks them."""
    query = """
        select p.proname || '(' || pg_get_function_arguments(p.oid) || ') -> ' || pg_get_function_result(p.oid)
          from pg_proc p where p.pronamespace = 'shardflake'::regnamespace and p.proname not like '\\_%' order by 1
    """
    assert [row[0] for row in connection.execute(query)] == [
        "add_logical_shards(p_shards integer[], above_id bigint DEFAULT NULL::bigint) -> void",
        "assign_shard(p_shard_id integer, logical_shards integer[] DEFAULT NULL::integer[], max_lead interval DEFAULT "
        "NULL::interval, replace boolean DEFAULT false, layout text DEFAULT NULL::text) -> void",
        "backfill_ids(p_shard integer, p_times timestamp with time zone[]) -> SETOF bigint",
        "backfills(OUT shard_id integer, OUT last_id bigint, OUT last_time timestamp with time zone) -> SETOF record",
        "claim_worker(p_holder text, worker integer DEFAULT NULL::integer, OUT worker_id integer, OUT token uuid, OUT "
        "floor_ms bigint, OUT high_water_ms bigint, OUT server_us bigint, OUT ttl_ms bigint, OUT retry_ms bigint) -> "
        "record",
        "confirm_identity(OUT columns_checked integer, OUT largest_id bigint, OUT high_water timestamp with time zone) "
        "-> record",
        "counter_of(p_id bigint) -> integer",
        "create_partitions(p_table regclass, p_unit text, ahead integer DEFAULT 3, from_time timestamp with time zone "
        "DEFAULT NULL::timestamp with time zone) -> SETOF regclass",
        "create_tickets(p_series text, first_number bigint DEFAULT 1, increment bigint DEFAULT 1, last_number bigint "
        "DEFAULT '9223372036854775807'::bigint, gap_free boolean DEFAULT false, failover_skip bigint DEFAULT 100000) ->"
        " void",
        "custom_layout(time_bits integer, shard_bits integer, counter_bits integer, epoch timestamp with time zone, "
        "tick_ms integer DEFAULT 1, counter_first boolean DEFAULT false) -> void",
        'decode(p_id bigint, OUT "time" timestamp with time zone, OUT shard integer, OUT counter integer) -> record',
        'decode(p_id bigint, layout text, OUT "time" timestamp with time zone, OUT shard integer, OUT counter integer) '
        "-> record",
        "drop_id_default(p_table regclass, p_column name) -> void",
        "epoch_ms() -> bigint",
        "feed_horizon(p_fence bigint DEFAULT NULL::bigint, p_waiting text[] DEFAULT NULL::text[]) -> TABLE(horizon "
        "bigint, fence bigint, waiting text[])",
        "grant_backfill_usage(p_role regrole) -> void",
        "grant_ticket_usage(p_role regrole) -> void",
        "grant_usage(p_role regrole) -> void",
        "grant_worker_usage(p_role regrole) -> void",
        "id_columns() -> TABLE(table_name regclass, column_name name)",
        "last_id_bound() -> bigint",
        "lease_tickets(p_series text, p_count bigint, OUT first_number bigint, OUT increment bigint) -> record",
        "make_id(p_time timestamp with time zone, p_shard integer, p_counter integer) -> bigint",
        "max_id(p_time timestamp with time zone) -> bigint",
        "max_id(p_time timestamp with time zone, layout text) -> bigint",
        "min_id(p_time timestamp with time zone) -> bigint",
        "min_id(p_time timestamp with time zone, layout text) -> bigint",
        "next_id() -> bigint",
        "next_id(p_shard integer) -> bigint",
        "next_ids(p_count integer) -> SETOF bigint",
        "next_invoice_number(p_series text) -> bigint",
        "partitions(p_table regclass) -> TABLE(partition regclass, from_time timestamp with time zone, until_time "
        "timestamp with time zone, from_id bigint, until_id bigint, detaching boolean)",
        "release_worker(p_worker integer, p_token uuid, p_used_ms bigint) -> boolean",
        "remove_logical_shards(p_shards integer[]) -> void",
        "renew_worker(p_worker integer, p_token uuid, p_high_water_ms bigint, p_used_ms bigint, OUT high_water_ms "
        "bigint, OUT server_us bigint, OUT ttl_ms bigint) -> record",
        "reserve_backfill_shards(p_shards integer[]) -> void",
        "reserve_worker_ids(p_first integer, p_last integer, ttl interval DEFAULT '00:00:10'::interval) -> void",
        "set_id_default(p_table regclass, p_column name, shard integer DEFAULT NULL::integer) -> void",
        "shard_id() -> integer",
        "shard_of(p_id bigint) -> integer",
        "status(OUT shard_id integer, OUT logical_shards integer[], OUT backfill_shards integer[], OUT layout text, OUT"
        " identity text, OUT clock timestamp with time zone, OUT high_water timestamp with time zone, OUT lead "
        "interval, OUT max_lead interval, OUT ids_per_ms_peak integer, OUT ids_per_ms_limit integer, OUT years_left "
        "numeric) -> record",
        "tickets(OUT series text, OUT next_number bigint, OUT last_number bigint, OUT increment bigint, OUT gap_free "
        "boolean, OUT failover_skip bigint) -> SETOF record",
        "timestamp_of(p_id bigint) -> timestamp with time zone",
        "ulid() -> text",
        "ulid_time(p_ulid text) -> timestamp with time zone",
        "ulid_to_uuid(p_ulid text) -> uuid",
        "uuid_to_ulid(p_uuid uuid) -> text",
        "uuid_v7() -> uuid",
        "uuid_v7_bounds(p_from timestamp with time zone, p_until timestamp with time zone, OUT low uuid, OUT high uuid)"
        " -> record",
        "uuid_v7_time(p_id uuid) -> timestamp with time zone",
        "workers(OUT worker_id integer, OUT holder text, OUT live boolean, OUT claimed_at timestamp with time zone, OUT"
        " renewed_at timestamp with time zone, OUT expires_at timestamp with time zone, OUT high_water timestamp with "
        "time zone) -> SETOF record",
    ]
