"""The generator: state, functions and the per-shard constants."""

from alembic import op

from shardflake.alembic.scripts import Executor, execute_pinned

revision = "0001"
down_revision = None

FILES = {
    "schema.sql": "def3bce43923",
    "functions/epoch_ms.sql": "0eb4a7311f1f",
    "functions/_id_tick_ms.sql": "dd46a3571168",
    "functions/_id_time_bits.sql": "fc9012ce795e",
    "functions/_id_time_shift.sql": "fbd109d1bc8e",
    "functions/_id_shard_bits.sql": "c88bb4761e3e",
    "functions/_id_shard_shift.sql": "4c35e70bb0dd",
    "functions/_id_counter_bits.sql": "74307ff8939d",
    "functions/_id_counter_shift.sql": "4492a9bbd103",
    "functions/shard_id.sql": "bba660437ead",
    "functions/_layout.sql": "ed810cf3a39e",
    "functions/_tick_ms.sql": "5aca2a0b7127",
    "functions/_window_bits.sql": "6471987cc546",
    "functions/_time_shift.sql": "11fcab373e6b",
    "functions/_shard_bits.sql": "1be8a49313c6",
    "functions/_shard_shift.sql": "d77dd81e3a96",
    "functions/_counter_bits.sql": "7b070f567a64",
    "functions/_counter_shift.sql": "2b17e4e55c52",
    "functions/_span.sql": "c00493eb2fb2",
    "functions/_is_due.sql": "0467a25a7670",
    "functions/_last_draw.sql": "6e7ea367d5f6",
    "functions/_logical_shards.sql": "6d17c6808875",
    "functions/_issued_shards.sql": "bbffa655f2fb",
    "functions/_backfill_shards.sql": "9d6d05eaf9e1",
    "functions/_max_lead.sql": "f8d259dd7e76",
    "functions/_worker_range.sql": "ffbf3a0c3a97",
    "functions/_window_file.sql": "491cc25b8e82",
    "functions/_system_identifier.sql": "34bb97ce8230",
    "functions/timestamp_of.sql": "6fa313dfbfe2",
    "functions/shard_of.sql": "3a644da6faa8",
    "functions/counter_of.sql": "d626d01b5851",
    "functions/decode.sql": "eac14fc2cbd8",
    "functions/_tick_at.sql": "6438b9ce66ef",
    "functions/min_id.sql": "68ab6d83334a",
    "functions/max_id.sql": "c895129c88ed",
    "functions/make_id.sql": "4d83968fc126",
    "functions/_preset.sql": "10c96210d52e",
    "functions/decode_as.sql": "b6e56c41905d",
    "functions/min_id_as.sql": "45340cb05777",
    "functions/max_id_as.sql": "5ca3d5aa3b7b",
    "functions/_tick.sql": "7a61ab255642",
    "functions/_ticks.sql": "dbd2955162a5",
    "functions/_place.sql": "89b8e9fdb6ff",
    "functions/_batch_limit.sql": "fca8ec30ee7a",
    "functions/_no_shard.sql": "c81764afc4f8",
    "functions/_refuse_shard.sql": "a0f59f75dcc4",
    "functions/_check_identity.sql": "00ec0bbf477c",
    "functions/_check_original.sql": "09b267a1e013",
    "functions/_check_free_shards.sql": "e7eabbedaf43",
    "functions/_set_logical_shards.sql": "19445ffc88c9",
    "functions/_flush_wal.sql": "7870ec2233de",
    "functions/_open_window.sql": "22240e9a9350",
    "functions/_is_window_file.sql": "0551205b9fa9",
    "functions/_draw.sql": "76e84c2842a5",
    "functions/next_id.sql": "d0729720d88c",
    "functions/next_id_of_shard.sql": "68aee7ceaf98",
    "functions/next_ids.sql": "c850555206b6",
    "functions/id_columns.sql": "27320ada43a1",
    "functions/_arm.sql": "8cc7d3f99a55",
    "functions/_set_layout.sql": "f10ad1a47578",
    "functions/assign_shard.sql": "88a044d236ad",
    "functions/custom_layout.sql": "ae2e279fa5cd",
    "functions/add_logical_shards.sql": "86681cc7d48b",
    "functions/remove_logical_shards.sql": "65c52cc9c12c",
    "functions/last_id_bound.sql": "ce53d4340e8e",
    "functions/confirm_identity.sql": "d4b5d12b78fd",
    "functions/status.sql": "574ccc959081",
    "functions/grant_usage.sql": "65385046641d",
    "functions/_check_id_column.sql": "a5bb314648f7",
    "functions/set_id_default.sql": "02cc8c98af81",
    "functions/drop_id_default.sql": "21a421450c77",
    "functions/_drawers.sql": "9ec7eb8db1f6",
    "functions/feed_horizon.sql": "60036b6c9d6e",
    "functions/partitions.sql": "545aa5117e28",
    "functions/create_partitions.sql": "aeaa8a0a303d",
    "functions/_time_of_unix_ms.sql": "01f0be00dcb2",
    "functions/_unix_us.sql": "a6df495195a9",
    "functions/_unix_ms.sql": "01517fe539ff",
    "functions/uuid_v7.sql": "c72980b04a84",
    "functions/uuid_v7_bounds.sql": "e274cb7b23fd",
    "functions/uuid_v7_time.sql": "8595be6de2e5",
    "functions/_base32.sql": "003b47cf4fa1",
    "functions/ulid.sql": "a0bdde58d7ff",
    "functions/ulid_to_uuid.sql": "97a707b37c46",
    "functions/uuid_to_ulid.sql": "92fe15b00001",
    "functions/ulid_time.sql": "fc753f84ec1b",
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
