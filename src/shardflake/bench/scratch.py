"""The scratch schemas of a run: looked into beforehand, made, and always removed.

The generators are copied into schemas of their own, under other names: a run needs no installation, takes no id of a real
shard, and leaves nothing behind.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import psycopg
from psycopg import sql

from shardflake import assets
from shardflake.bench.contenders import SCRATCH
from shardflake.connect import OLDEST_SERVER
from shardflake.errors import ConnectionFailedError, InstallationError, UnsupportedServerError
from shardflake.server import LocalServer, embedded_bin_dir

_SHARD_ID = 5
_COPIES = {"shardflake": "", "twitter": ", layout => 'twitter'", "sonyflake": ", layout => 'sonyflake'"}
"""Schemas with a copy of our generator, and the further arguments of assign_shard()."""

SCHEMAS = (SCRATCH, *(f"{SCRATCH}_{name}" for name in (*_COPIES, "instagram")))


@dataclass(frozen=True, slots=True)
class Extension:
    """An extension that measures.

    :param metrics: what cannot be had without it.
    :param probe: a query that fails without the privilege.
    :param grant: what gives the privilege.
    """

    name: str
    metrics: str
    probe: str
    grant: str


EXTENSIONS = (
    Extension(
        "pgstattuple",
        "leaf_density, splits_per_million",
        "select leaf_pages from pgstatindex('shardflake_bench.probe_pkey')",
        "GRANT pg_stat_scan_tables TO {role}",
    ),
    Extension(
        "pageinspect",
        "histograms of leaf fill, heatmap",
        "select free_size from bt_page_stats('shardflake_bench.probe_pkey', 1)",
        "ALTER ROLE {role} SUPERUSER (pageinspect is for superusers)",
    ),
    Extension(
        "pg_walinspect",
        "parts of WAL, splits left, right and interior, measured disorder of live writers, heatmap",
        "select count(*) from pg_get_wal_records_info(pg_current_wal_flush_lsn() - 16384, pg_current_wal_flush_lsn())",
        "GRANT pg_read_server_files TO {role}",
    ),
)


@dataclass(slots=True)
class Bench:
    """A server to measure on, with the scratch schemas in it.

    :param url: of the database.
    :param server: None where it is not one of our own.
    :param connection: autocommitting; finds tables of the scratch schema and functions of the extensions without a schema.
    :param seed: of everything that is drawn.
    :param can: names of extensions that work, ``checkpoint``, ``pgbench``, ``cpu``, and schemas of generators that were copied.
    :param unavailable: what cannot be measured, ready for the header.
    """

    url: str
    server: LocalServer | None
    connection: psycopg.Connection
    seed: int
    pgbench: Path | None = None
    can: set[str] = field(default_factory=set)
    unavailable: list[dict[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    last_checkpoint: object = None
    """Where in WAL the last one that was asked for began."""

    def one(self, query: str, *arguments: object) -> tuple[int, ...]:
        """Return the one row of a query."""
        row = self.connection.execute(query.encode(), arguments or None).fetchone()
        if row is None:
            raise InstallationError(f"no row from {query}")
        return row

    def checkpoint(self) -> None:
        """Write everything older to disk, if the role may."""
        if "checkpoint" in self.can:
            self.connection.execute("checkpoint")
        self.last_checkpoint = self._checkpointed()

    def had_checkpoint(self) -> bool:
        """Say whether there has been a checkpoint since that nobody asked for; the next answer begins from here."""
        before, self.last_checkpoint = self.last_checkpoint, self._checkpointed()
        return before != self.last_checkpoint

    def _checkpointed(self) -> object:
        return self.one("select redo_lsn from pg_control_checkpoint()")[0]

    def lack(self, metric: str, reason: str, grant: str = "") -> None:
        """Note that something cannot be measured."""
        self.unavailable.append({"metric": metric, "reason": reason, "grant": grant})


def prepare(url: str, server: LocalServer | None, run: str, seed: int, *, resumed: bool) -> Bench:
    """Check a server and make the scratch schemas on it.

    :param run: text that tells this run from others; stands in the schemas' comments.
    :param resumed: whether schemas that this very run left behind, when its server was lost, may be removed first.
    :raises UnsupportedServerError: a standby, or older than PostgreSQL 15.
    :raises InstallationError: a scratch schema exists already, or the role may not create one.
    """
    try:
        connection = psycopg.connect(url, autocommit=True, application_name="shardflake bench")
    except psycopg.OperationalError as error:
        raise ConnectionFailedError(f"cannot connect: {str(error).strip()}") from error
    bench = Bench(url, server, connection, seed)
    try:
        _refuse(bench)
        _refuse_leftovers(bench, run, resumed=resumed)
    except BaseException:
        connection.close()
        raise
    try:
        _create(bench, run)
        _measure_with(bench)
    except BaseException:
        remove(url)
        connection.close()
        raise
    return bench


def remove(url: str) -> None:
    """Drop the scratch schemas and end what still runs in them; does nothing if the server is gone."""
    try:
        with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
            connection.execute("set client_min_messages = error")
            for schema in SCHEMAS:
                connection.execute(sql.SQL("drop schema if exists {} cascade").format(sql.Identifier(schema)))
    except psycopg.OperationalError:
        return


def _refuse(bench: Bench) -> None:
    connection = bench.connection
    if connection.info.server_version < OLDEST_SERVER:
        version = connection.info.server_version // 10000
        raise UnsupportedServerError(f"the server is PostgreSQL {version}; the benchmark needs PostgreSQL 15 or newer")
    (standby, may_create, role, database) = bench.one(
        "select pg_is_in_recovery(), has_database_privilege(current_database(), 'create'), "
        "quote_ident(current_user), quote_ident(current_database())"
    )
    if standby:
        raise UnsupportedServerError("the server is a standby, nothing can be written there; give the URL of the primary")
    if not may_create:
        raise InstallationError(
            f"role {role} may not create the scratch schema {SCRATCH}: GRANT CREATE ON DATABASE {database} TO {role}"
        )


def _refuse_leftovers(bench: Bench, run: str, *, resumed: bool) -> None:
    found = bench.connection.execute(
        "select nspname, obj_description(oid, 'pg_namespace') from pg_namespace where nspname = any (%s)", (list(SCHEMAS),)
    ).fetchall()
    foreign = [name for name, comment in found if not resumed or comment != run]
    if foreign:
        raise InstallationError(
            f"schema {', '.join(foreign)} exists already in this database: another run may be at work. If none is: "
            + " ".join(f"DROP SCHEMA {name} CASCADE;" for name in foreign)
        )
    if found:
        remove(bench.url)


def _create(bench: Bench, run: str) -> None:
    connection = bench.connection
    connection.execute("set client_min_messages = error")
    for schema in SCHEMAS:
        with connection.transaction():
            try:
                with connection.transaction():
                    _fill(connection, schema)
            except psycopg.Error as error:
                if schema == SCRATCH:
                    raise
                reason = str(error).splitlines()[0]
                bench.lack(f"generator of {schema.removeprefix(SCRATCH + '_')}", f"it cannot be installed: {reason}")
                connection.execute(sql.SQL("create schema {}").format(sql.Identifier(schema)))
            else:
                bench.can.add(schema)
            connection.execute(sql.SQL("comment on schema {} is {}").format(sql.Identifier(schema), sql.Literal(run)))


def _fill(connection: psycopg.Connection, schema: str) -> None:
    name = schema.removeprefix(f"{SCRATCH}_")
    if schema == SCRATCH:
        connection.execute(sql.SQL("create schema {}").format(sql.Identifier(schema)))
        for statement in assets.statements(_resource("scratch.sql")):
            connection.execute(statement.encode())
    elif name == "instagram":
        connection.execute(_renamed(_resource("instagram.sql"), "instagram", schema))
    else:
        for file in assets.manifest():
            connection.execute(_renamed(assets.read(file), "shardflake", schema))
        connection.execute(_renamed(f"select shardflake.assign_shard({_SHARD_ID}{_COPIES[name]})", "shardflake", schema))


def _renamed(text: str, old: str, new: str) -> bytes:
    """Return SQL of ours for a schema of another name."""
    return re.sub(rf"\b{old}\b", new, text).encode()


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _measure_with(bench: Bench) -> None:
    """Find out what can be measured."""
    connection = bench.connection
    connection.execute(f"create table {SCRATCH}.probe (id bigint primary key)".encode())
    connection.execute(f"insert into {SCRATCH}.probe select generate_series(1, 1000)".encode())
    (role,) = bench.one("select quote_ident(current_user)")
    for extension in EXTENSIONS:
        _try_extension(bench, extension, str(role))
    schemas = connection.execute(
        "select distinct nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where extname = any (%s)",
        ([extension.name for extension in EXTENSIONS],),
    ).fetchall()
    set_path(connection, [name for (name,) in schemas])
    for extension in EXTENSIONS:
        if extension.name in bench.can:
            _probe(bench, extension, str(role))
    if bench.one("select pg_has_role('pg_checkpoint', 'usage')")[0]:
        bench.can.add("checkpoint")
    else:
        bench.lack("wal_index_fpi over checkpoints", "the role may not CHECKPOINT", f"GRANT pg_checkpoint TO {role}")
    if bench.server is not None and Path("/proc/self/stat").exists():
        bench.can.add("cpu")
    else:
        bench.lack("cpu_us_per_row", "the server's processes cannot be seen from here")
    bench.pgbench = _find_pgbench(bench.server)
    if bench.pgbench is not None:
        bench.can.add("pgbench")
    else:
        bench.lack("autocommit, transactions50", "pgbench is not on the PATH; install PostgreSQL's client programs")


def set_path(connection: psycopg.Connection, extensions: Sequence[str]) -> None:
    """Let a connection find tables of the scratch schema and functions of the extensions."""
    names = dict.fromkeys([SCRATCH, *extensions, "pg_catalog"])
    connection.execute(sql.SQL("set search_path = {}").format(sql.SQL(", ").join(map(sql.Identifier, names))))


def _try_extension(bench: Bench, extension: Extension, role: str) -> None:
    statement = sql.SQL("create extension if not exists {} with schema {}")
    try:
        bench.connection.execute(statement.format(sql.Identifier(extension.name), sql.Identifier(SCRATCH)))
        bench.can.add(extension.name)
    except psycopg.Error as error:
        reason = str(error).splitlines()[0]
        bench.lack(extension.metrics, reason, f"CREATE EXTENSION {extension.name}; {extension.grant.format(role=role)}")


def _probe(bench: Bench, extension: Extension, role: str) -> None:
    try:
        bench.connection.execute(extension.probe.encode())
    except psycopg.Error as error:
        bench.can.discard(extension.name)
        bench.lack(extension.metrics, str(error).splitlines()[0], extension.grant.format(role=role))


def _find_pgbench(server: LocalServer | None) -> Path | None:
    if server is not None:
        own = server.bin_dir / "pgbench"
        return own if own.exists() else None
    if found := shutil.which("pgbench"):
        return Path(found)
    try:
        return embedded_bin_dir() / "pgbench"
    except ConnectionFailedError:
        return None
