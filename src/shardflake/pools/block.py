"""Blocks of ids that one call of ``shardflake.next_ids`` made, as runs of consecutive numbers; what both pools share."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

import sqlalchemy as sa

LARGEST_BLOCK = 102_400
"""Most ids that one call of ``shardflake.next_ids`` makes."""

# A block of 10,000 ids is ten runs: a row for each is a hundredth of what ten thousand rows cost to send and to read.
LEASE = sa.text(
    "select min(id), count(*) from (select id, id - row_number() over (order by id) as run "
    "from shardflake.next_ids(:count) as id) as numbered group by run order by 1"
)


@dataclass(slots=True)
class PoolMetrics:
    """What a pool has done since it was made, in this process.

    :param leases: blocks leased, a round trip each.
    :param waits: draws that found no block ready and waited for one.
    :param expired: blocks of which a part was given up because of its age.
    :param failures: refills in the background that failed; the next draw tries again and raises if it must.
    """

    leases: int = 0
    waits: int = 0
    expired: int = 0
    failures: int = 0


class Block:
    """Ids of one lease, handed out in ascending order.

    :param rows: first id and length of each run, ascending.
    :param expires: ``time.monotonic()`` after which what is left is given up, in seconds.
    """

    __slots__ = ("expires", "ids")

    def __init__(self, rows: Iterable[tuple[int, int]], expires: float) -> None:
        self.ids: Iterator[int] = chain.from_iterable([range(first, first + length) for first, length in rows])
        self.expires = expires

    def take(self, count: int) -> list[int]:
        """Return the next ids, fewer than asked for if the block ends."""
        return list(islice(self.ids, count))

    @property
    def fresh(self) -> bool:
        """Whether its ids are young enough to be handed out."""
        return time.monotonic() < self.expires


EMPTY = Block((), float("-inf"))


def check_options(block: int, max_age: float) -> None:
    """Raise ValueError for options that no pool can have.

    :param block: ids per lease, 1 to 102,400.
    :param max_age: seconds after which leftovers are given up.
    """
    if not 1 <= block <= LARGEST_BLOCK:
        raise ValueError(f"a block of {block} ids cannot be leased; choose 1 to {LARGEST_BLOCK}")
    if not max_age > 0:
        raise ValueError(f"max_age {max_age} s must be positive; 10 s suits most applications")
