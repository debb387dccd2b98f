"""64-bit, time-ordered, strictly unique ids from inside each PostgreSQL shard.

The pure parts live here: layouts, and reading and making ids. Adapters are imported by name:
:mod:`shardflake.sqlalchemy`, :mod:`shardflake.alembic`, :mod:`shardflake.install`.
"""

from shardflake.errors import InvalidIdError, ShardflakeError
from shardflake.ids import DecodedId, decode, make_id, max_id, min_id, parse_id, time_range
from shardflake.layout import DISCORD, INSTAGRAM, JAVASCRIPT, PRESETS, SHARDFLAKE, SONYFLAKE, TWITTER, Field, Layout

__all__ = [
    "DISCORD",
    "INSTAGRAM",
    "JAVASCRIPT",
    "PRESETS",
    "SHARDFLAKE",
    "SONYFLAKE",
    "TWITTER",
    "DecodedId",
    "Field",
    "InvalidIdError",
    "Layout",
    "ShardflakeError",
    "decode",
    "make_id",
    "max_id",
    "min_id",
    "parse_id",
    "time_range",
]
__version__ = "0.1.0"
