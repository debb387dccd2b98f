"""What each step of the demo is about, in words for somebody who has never thought about ids."""

from __future__ import annotations

from typing import NamedTuple


class Chapter(NamedTuple):
    """Title and story of a step, and what it does while one waits."""

    title: str
    story: str
    doing: str


OPENING = (
    "A shop has outgrown its database. Customers, orders and order lines now live in four, one for each region, and every row "
    "needs a key that no other database gives out too. All that follows happens now, on a throw-away PostgreSQL server on this "
    "machine; every number is measured in this run."
)

BIGSERIAL = Chapter(
    "bigserial counts from 1 everywhere",
    "Each database numbers its own orders with bigserial, as most do. The numbers are unique in one database, but not in "
    "the shop: ask for an order by its number, and several answer.",
    "numbering orders",
)

INSTAGRAM = Chapter(
    "Instagram's published function repeats itself",
    "A well-known way out puts the time, the shard and a counter into one number. The function that Instagram published reads "
    "the counter first and the clock afterwards; when many rows are written at once, two of them can read the same pair. Eight "
    "sessions insert 1,000 rows a statement into one shard, into a column that lets duplicates in, to count them.",
    "loading one shard with Instagram's function",
)

SHARDFLAKE = Chapter(
    "shardflake does not, on four shards at once",
    "Now every shard gets the same eight sessions, all 32 at once, and an application on top: SQLAlchemy models that add "
    "customers with orders and order lines, and leave their keys to the database. Then some customers order one by one, and "
    "all ids of all tables of all four databases are put together and compared.",
    "loading all four shards with shardflake",
)

LOOKUP = Chapter(
    "The id knows where its row is",
    "Somebody asks for an order and gives nothing but its id. The shard is part of the id, so the application asks that one "
    "database and no other; no directory has to be looked up or kept.",
    "looking an order up",
)

FEED = Chapter(
    "One feed, newest first, over four databases",
    "Ids grow with time on every shard, so the newest orders of the whole shop are a merge of the newest of each. The next "
    "page goes on below the last id of the page before; nothing is counted or skipped.",
    "reading the feed",
)

EXPLAIN = Chapter(
    "What is in an id",
    "An id is an ordinary bigint of 64 bits. The first one stays 0, so that it is never negative; the others say when it was "
    "made, in which database, and as which of that millisecond.",
    "explaining an id",
)

INDEXES = Chapter(
    "What a key costs in its index",
    "Eight sessions at once fill one table for each kind of primary key, 1,000 rows a statement. Keys that grow are appended "
    "and leave full pages behind; random ones land anywhere and leave pages half empty. A uuid also is twice as long.",
    "filling tables",
)
