-- Drops the backfill. Its shard ids stay reserved, as rows may hold ids of theirs, and cannot be used for imports again.

drop function
  shardflake.grant_backfill_usage(regrole), shardflake.backfills(), shardflake.backfill_ids(integer, timestamptz[]),
  shardflake._refuse_time(integer, timestamptz, timestamptz), shardflake.reserve_backfill_shards(integer[]);

drop table shardflake._backfill;
