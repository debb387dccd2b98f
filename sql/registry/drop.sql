-- Drops what install.sql made. The record of who holds which shard id is lost with it.

drop function
  shardflake_registry.claim(text, bigint, oid, text, integer, boolean, boolean),
  shardflake_registry.retire(text),
  shardflake_registry.move(integer, text, text, bigint, oid, text);

drop table shardflake_registry.shard;
