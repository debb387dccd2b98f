"""Runs the migrations of schema shardflake_registry, which one database of a fleet holds; otherwise as ../env.py."""

from shardflake.alembic.environment import run

# 1936287346 is the generator's; a database may hold both
run("shardflake_registry", create="registry/schema.sql", drop="registry/drop_schema.sql", lock_key=1936287347)
