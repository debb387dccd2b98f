"""Worker leases: tables and functions."""

from alembic import op

from shardflake.alembic.scripts import Executor, execute_pinned

revision = "0002"
down_revision = "0001"

FILES = {
    "workers.sql": "d33c225db127",
    "functions/_commit_durably.sql": "87f905bb4287",
    "functions/_incarnation_name.sql": "ec741fef9a05",
    "functions/_begin_lease.sql": "79d558cc8900",
    "functions/reserve_worker_ids.sql": "d1c2b44f57a2",
    "functions/claim_worker.sql": "dcebe3a99e89",
    "functions/renew_worker.sql": "ffd197f76408",
    "functions/release_worker.sql": "a126f9e2daff",
    "functions/workers.sql": "b125e354b42c",
    "functions/grant_worker_usage.sql": "3fe0d89c8ae6",
}
DROP = {"drop_workers.sql": "587bfaefa9a0"}


def install(operations: Executor) -> None:
    """Create everything; also what ``op.install_shardflake(version=2)`` does in an application's own history."""
    execute_pinned(operations, revision, FILES)


def uninstall(operations: Executor) -> None:
    """Drop the leases, refusing while one is live."""
    execute_pinned(operations, revision, DROP)


def upgrade() -> None:
    install(op)


def downgrade() -> None:
    uninstall(op)
