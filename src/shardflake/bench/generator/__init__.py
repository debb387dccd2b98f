"""What the generator costs beside bigserial, UUIDs and Instagram's function: ``python -m shardflake.bench.generator``."""
