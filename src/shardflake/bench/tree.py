"""How PostgreSQL's B-tree fills its leaves, from the rules by which they split: what physics checks compare with the server.

A leaf holds items of one size, and all but the last one a high key of that size too. The last leaf is split so that 90 % of
the left page is used, any other one in the middle (``_bt_findsplitloc`` of nbtsplitloc.c). Single-column keys of one length
only: there is no other rule for those.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

USABLE = 8152
"""Bytes of an 8 KiB page between its header (24) and its B-tree trailer (16)."""

PAGE = 8192
LEAF_FILL = 0.9
INNER_FILL = 0.7


def item_bytes(width: int) -> int:
    """Return what an index entry takes: 8 bytes of header and the key, to a multiple of 8, and a line pointer of 4.

    :param width: of the key in bytes; a text's includes its length byte.
    """
    return (8 + width + 7) // 8 * 8 + 4


def capacity(item: int) -> int:
    """Return how many entries the last leaf holds: 407 of bigint, 291 of uuid."""
    return USABLE // item


def ascending_rows(item: int) -> int:
    """Return how many rows ascending keys leave on a page: the split nearest to 90 %, less the high key."""
    return round(LEAF_FILL * USABLE / item) - 1


def inner_pages(leaves: int, item: int) -> int:
    """Return about how many pages stand above the leaves, at 70 %, which is how inner pages are split."""
    total, level = 0, leaves
    while level > 1:
        level = -(-level // int(INNER_FILL * USABLE / item)) if level > capacity(item) else 1
        total += level
    return total


@dataclass(frozen=True, slots=True)
class Shape:
    """An index as the rules build it.

    :param rows: in all leaves.
    :param leaves: pages.
    :param item: bytes of an entry.
    """

    rows: int
    leaves: int
    item: int

    @property
    def splits(self) -> int:
        """How many leaves were split."""
        return self.leaves - 1

    @property
    def density(self) -> float:
        """The part of the leaves' space that is used, high keys included."""
        return (self.rows + self.leaves - 1) * self.item / (self.leaves * USABLE)

    @property
    def bytes(self) -> int:
        """The size of the index: meta page, leaves, inner pages."""
        return PAGE * (1 + self.leaves + inner_pages(self.leaves, self.item))


def ascending(rows: int, width: int) -> Shape:
    """Return the index that ascending keys build, in closed form."""
    item = item_bytes(width)
    full = capacity(item)
    return Shape(rows, 1 if rows <= full else 1 - (full - rows) // ascending_rows(item), item)


def grow(keys: Iterable[int], width: int) -> Shape:
    """Return the index that keys build in the order given, one by one.

    :param keys: any numbers in the order of the keys.
    """
    item = item_bytes(width)
    leaves: list[list[int]] = [[]]
    firsts: list[int] = []  # first key of each leaf but the first: what separates it from the one before
    last_full, full = capacity(item), (USABLE - item) // item
    left = ascending_rows(item)
    total = 0
    for key in keys:
        total += 1
        number = bisect_right(firsts, key)
        leaf = leaves[number]
        if leaf and key > leaf[-1]:
            leaf.append(key)
        else:
            leaf.insert(bisect_right(leaf, key), key)
        last = number == len(leaves) - 1
        if len(leaf) > (last_full if last else full):
            cut = left if last else len(leaf) // 2  # the left half gets a high key, for which 8 bytes more are reckoned
            leaves.insert(number + 1, leaf[cut:])
            firsts.insert(number, leaf[cut])
            del leaf[cut:]
    return Shape(total, len(leaves), item)
