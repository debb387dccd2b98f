"""Measurements of the generator alone, without a contender beside it: the same signature as the load drivers."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import psycopg
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session

from shardflake import install
from shardflake.bench.generator.contenders import Contender
from shardflake.bench.generator.load import Metrics, Stage
from shardflake.connect import make_engine
from shardflake.sqlalchemy import ShardflakeMixin

BATCH = 10_000


def loop(stage: Stage, contender: Contender) -> Metrics:
    """Draw ids one by one in one session. The empty loop is not subtracted: what is compared is a rate against the clock."""
    generator, baseline = _timing(stage, b"select * from timing.loop(%s)", (stage.sizes.loop_ids,))
    return {"ids_per_s": stage.sizes.loop_ids / generator, "baseline_ids_per_s": stage.sizes.loop_ids / baseline}


def batches(stage: Stage, contender: Contender) -> Metrics:
    """Draw ids 10,000 at a time; gross, and net of a set-returning function that generates nothing."""
    generator, baseline = _timing(stage, b"select * from timing.batches(%s, %s)", (stage.sizes.batch_calls, BATCH))
    net = max(generator - baseline, 1e-6)  # the clock's resolution: a disturbed run must not report less than no time
    return {"gross_ids_per_s": BATCH / generator, "baseline_ids_per_s": BATCH / baseline, "ids_per_s": BATCH / net}


def orm(stage: Stage, contender: Contender) -> Metrics:
    """Flush objects by ``add_all()`` and count the statements; every object must end up with its own row's key."""

    class Base(DeclarativeBase):
        pass

    class Load(ShardflakeMixin, Base):
        __tablename__ = "objects"
        payload: Mapped[int]

    engine = make_engine(stage.url)
    Base.metadata.create_all(engine)
    objects = [Load(payload=number) for number in range(stage.sizes.objects)]
    statements = 0

    def count(*_: object) -> None:
        nonlocal statements
        statements += 1

    with Session(engine) as session:
        session.connection()
        sa.event.listen(engine, "before_cursor_execute", count)
        start = time.perf_counter()
        session.add_all(objects)
        session.flush()
        seconds = time.perf_counter() - start
        sa.event.remove(engine, "before_cursor_execute", count)
        stored = {row.id: row.payload for row in session.execute(sa.select(Load.id, Load.payload))}
        if stored != {each.id: each.payload for each in objects}:
            raise RuntimeError("the ORM gave objects the keys of other rows")
        session.rollback()
    Base.metadata.drop_all(engine)
    return {"statements": statements, "seconds": seconds}


def install_time(url: str, shard_id: int) -> float:
    """Install the generator in an empty database, as ``shardflake db upgrade`` does, and return the seconds it took."""
    start = time.perf_counter()
    install.upgrade(make_engine(url), shard_id)
    return time.perf_counter() - start


def has_command_line() -> bool:
    """Say whether this installation has the command ``shardflake``."""
    return _command().exists() and find_spec("shardflake.cli") is not None


def explain(stage: Stage, contender: Contender) -> Metrics:
    """Time a whole run of ``shardflake id explain``, start of the interpreter included."""
    identifier = _timing(stage, b"select shardflake.next_id()", ())[0]
    start = time.perf_counter()
    subprocess.run(  # noqa: S603
        [str(_command()), "id", "explain", str(identifier)], stdin=subprocess.DEVNULL, capture_output=True, check=True
    )
    return {"seconds": time.perf_counter() - start}


PROBES: dict[str, Callable[[Stage, Contender], Metrics]] = {
    "loop": loop,
    "batches": batches,
    "orm": orm,
    "explain": explain,
}


def _command() -> Path:
    return Path(sys.executable).parent / "shardflake"


def _timing(stage: Stage, query: bytes, parameters: tuple[int, ...]) -> tuple[float, ...]:
    """Run a query in a new session, for which nothing is planned or cached yet, and return its one row."""
    with psycopg.connect(stage.url, autocommit=True) as session:
        row: tuple[float, ...] | None = session.execute(query, parameters).fetchone()
    if row is None:
        raise RuntimeError(f"no row from {query.decode()}")
    return row
