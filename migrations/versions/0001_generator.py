"""The generator: state, functions and the per-shard constants."""

from alembic import op

from shardflake.alembic.scripts import Executor, execute_pinned

revision = "0001"
down_revision = None

FILES = {
    "schema.sql": "30695d4f3811",
    "functions/epoch_ms.sql": "d972cffa10a8",
    "functions/shard_id.sql": "bba660437ead",
    "functions/_logical_shards.sql": "6d17c6808875",
    "functions/_max_lead.sql": "f8d259dd7e76",
    "functions/_window_file.sql": "491cc25b8e82",
    "functions/_system_identifier.sql": "34bb97ce8230",
    "functions/timestamp_of.sql": "48d60158136f",
    "functions/shard_of.sql": "e65c9ce66751",
    "functions/counter_of.sql": "10a96d77701e",
    "functions/decode.sql": "9337fc183880",
    "functions/_tick_at.sql": "bd4810015c66",
    "functions/min_id.sql": "86ca8e6700e4",
    "functions/max_id.sql": "1fbf891ce211",
    "functions/make_id.sql": "c0a960dd9b47",
    "functions/_tick.sql": "2d793ea7cd7f",
    "functions/_no_shard.sql": "8109f05582f9",
    "functions/_refuse_shard.sql": "a0f59f75dcc4",
    "functions/_check_identity.sql": "00ec0bbf477c",
    "functions/_flush_wal.sql": "7870ec2233de",
    "functions/_open_window.sql": "8c2fe4a85b44",
    "functions/_is_window_file.sql": "0551205b9fa9",
    "functions/_draw.sql": "bcdad80cd5c7",
    "functions/next_id.sql": "8045439108cb",
    "functions/next_id_of_shard.sql": "1d421302b065",
    "functions/next_ids.sql": "e81446e52291",
    "functions/id_columns.sql": "27320ada43a1",
    "functions/_arm.sql": "8cc7d3f99a55",
    "functions/assign_shard.sql": "6affad815c6c",
    "functions/confirm_identity.sql": "9a20bdd75d27",
    "functions/status.sql": "021e0472bdde",
    "functions/grant_usage.sql": "86cc5e4e66df",
    "functions/_check_id_column.sql": "695a060f8cc1",
    "functions/set_id_default.sql": "02cc8c98af81",
    "functions/drop_id_default.sql": "21a421450c77",
    "functions/_drawers.sql": "9ec7eb8db1f6",
    "functions/feed_horizon.sql": "d7e2ae319cf1",
    "functions/partitions.sql": "545aa5117e28",
    "functions/create_partitions.sql": "3f2422234a5a",
}
DROP = {"drop.sql": "c40ea6e92863"}


def install(operations: Executor) -> None:
    """Create everything; also what ``op.install_shardflake(version=1)`` does in an application's own history."""
    execute_pinned(operations, revision, FILES)


def uninstall(operations: Executor) -> None:
    """Drop everything, refusing while it is in use."""
    execute_pinned(operations, revision, DROP)


def upgrade() -> None:
    install(op)


def downgrade() -> None:
    uninstall(op)
