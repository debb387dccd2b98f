"""The registry: who holds which shard id."""

from alembic import op

from shardflake.alembic.scripts import execute_pinned

revision = "0001"
down_revision = None

FILES = {
    "registry/schema.sql": "95cc589dedcd",
    "registry/claim.sql": "2bded6166a64",
    "registry/retire.sql": "92e82533d9b7",
    "registry/move.sql": "d540af236034",
}
DROP = {"registry/drop.sql": "59bfcac7b593"}


def upgrade() -> None:
    execute_pinned(op, revision, FILES)


def downgrade() -> None:
    execute_pinned(op, revision, DROP)
