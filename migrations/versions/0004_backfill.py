"""Ids of imported rows, with their historical times."""

from alembic import op

from shardflake.alembic.scripts import Executor, execute_pinned

revision = "0004"
down_revision = "0003"

FILES = {
    "backfill.sql": "2dc27cfd9eb4",
    "functions/reserve_backfill_shards.sql": "ad48314a8f0a",
    "functions/_refuse_time.sql": "f3c319d5b385",
    "functions/backfill_ids.sql": "0ba847b69767",
    "functions/backfills.sql": "75dbc5f27d28",
    "functions/grant_backfill_usage.sql": "c6c699c3ad7e",
}
DROP = {"drop_backfill.sql": "68edd12af7eb"}


def install(operations: Executor) -> None:
    """Create everything; also what ``op.install_shardflake(version=4)`` does in an application's own history."""
    execute_pinned(operations, revision, FILES)


def uninstall(operations: Executor) -> None:
    """Drop how far the imports have come; their shard ids stay reserved."""
    execute_pinned(operations, revision, DROP)


def upgrade() -> None:
    install(op)


def downgrade() -> None:
    uninstall(op)
