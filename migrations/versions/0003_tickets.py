"""Ticket series: short, consecutive numbers."""

from alembic import op

from shardflake.alembic.scripts import Executor, execute_pinned

revision = "0003"
down_revision = "0002"

FILES = {
    "tickets.sql": "a0f1480f2bc1",
    "functions/create_tickets.sql": "25ec85c9afa2",
    "functions/_take_tickets.sql": "b0ead881c991",
    "functions/lease_tickets.sql": "6748df1ade32",
    "functions/next_invoice_number.sql": "24172cee101f",
    "functions/tickets.sql": "067d703fa6ff",
    "functions/grant_ticket_usage.sql": "bd0336fb893d",
}
DROP = {"drop_tickets.sql": "c70a0033473f"}


def install(operations: Executor) -> None:
    """Create everything; also what ``op.install_shardflake(version=3)`` does in an application's own history."""
    execute_pinned(operations, revision, FILES)


def uninstall(operations: Executor) -> None:
    """Drop the series and how far they have come."""
    execute_pinned(operations, revision, DROP)


def upgrade() -> None:
    install(op)


def downgrade() -> None:
    uninstall(op)
