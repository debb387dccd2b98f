"""The workloads, in the order of ``bench list``. To add one, write a :class:`Workload` and append it."""

from __future__ import annotations

from shardflake.bench.workloads.base import Workload
from shardflake.bench.workloads.bulk import Bulk
from shardflake.bench.workloads.checkpoint import Checkpoint
from shardflake.bench.workloads.disorder import Disorder
from shardflake.bench.workloads.generator import Generator
from shardflake.bench.workloads.migration import Migration
from shardflake.bench.workloads.overhead import Overhead
from shardflake.bench.workloads.reads import Reads
from shardflake.bench.workloads.retention import Retention
from shardflake.bench.workloads.secondary import Composite, Secondary
from shardflake.bench.workloads.sessions import Autocommit, Transactions50

WORKLOADS: tuple[type[Workload], ...] = (
    Bulk,
    Autocommit,
    Transactions50,
    Disorder,
    Migration,
    Reads,
    Retention,
    Secondary,
    Composite,
    Checkpoint,
    Generator,
    Overhead,
)
