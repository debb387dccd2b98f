"""Ids before the row: pools that lease blocks of ids from a shard.

::

    pool = IdPool(engine, block=10_000)
    pool.next_id()
"""

from shardflake.pools.aio import AsyncIdPool
from shardflake.pools.block import PoolMetrics
from shardflake.pools.copying import copy_rows
from shardflake.pools.orm import draw_on_construction, insert_in_batches, pool_column, pool_default
from shardflake.pools.threaded import IdPool

__all__ = [
    "AsyncIdPool",
    "IdPool",
    "PoolMetrics",
    "copy_rows",
    "draw_on_construction",
    "insert_in_batches",
    "pool_column",
    "pool_default",
]
