"""${message}."""

from alembic import op

from shardflake.alembic import execute_pinned

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}

FILES: dict[str, str] = {}  # shardflake.assets.pins() writes the fingerprints


def upgrade() -> None:
    ${upgrades if upgrades else "execute_pinned(op, revision, FILES)"}


def downgrade() -> None:
    ${downgrades if downgrades else "raise NotImplementedError"}
