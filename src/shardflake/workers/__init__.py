"""Ids made in the application, by workers whose ids PostgreSQL leases.

::

    with WorkerGenerator(engine) as generator:
        generator.next_id()
"""

from shardflake.workers.aio import AsyncWorkerGenerator
from shardflake.workers.generator import ClockPolicy, WorkerGenerator, WorkerMetrics
from shardflake.workers.ordinal import worker_of_ordinal

__all__ = ["AsyncWorkerGenerator", "ClockPolicy", "WorkerGenerator", "WorkerMetrics", "worker_of_ordinal"]
