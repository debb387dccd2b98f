"""Many shards: the file that lists them, one command for all of them, and the way from an id to its shard.

========== ==========================================================
file       ``shards.toml``
pool       the same work on many shards at once
upgrade    plan and upgrade, under the fleet's lock
observe    what one shard says of itself
check      what is wrong in what they say
metrics    the same for Prometheus
registry   which shard ids are taken
logical    logical shards: create, list, move
routing    an id's shard and its engine
sessions   SQLAlchemy sessions over all shards
feed       rows of all shards in the order of their ids
========== ==========================================================
"""
