"""Runs the migrations of schema shardflake: all of them in one transaction, one upgrade at a time per database.

The connection comes from ``config.attributes["connection"]`` (a connection or an engine), else from ``-x url=...``, else from
SHARDFLAKE_URL, else from libpq's PG* environment.
"""

from shardflake.alembic.environment import run

# The key is "shr2" in ASCII; the generator's own locks are per object.
run("shardflake", create="schema.sql", drop="drop_schema.sql", lock_key=1936287346)
