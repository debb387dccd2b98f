"""What PostgreSQL's B-tree must come to, and why: the formulas that measurements are held against."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shardflake.bench import tree


@dataclass(frozen=True, slots=True)
class Formula:
    """A prediction in words.

    :param text: the formula; s is the size of an index entry in bytes, N the number of rows.
    :param source: where in PostgreSQL it comes from, or whose result it is.
    """

    text: str
    source: str


FORMULAS = {
    "leaf_capacity": Formula(
        "C = floor(8152 / s), s = 8 + key rounded up to a multiple of 8, + 4: 407 entries of bigint, 291 of uuid",
        "an 8 KiB page less its header (24) and the B-tree's trailer (16); IndexTupleData and ItemIdData",
    ),
    "ascending_rows": Formula(
        "n = round(0.9 · 8152 / s) - 1 rows stay on a page: 366 of bigint, 261 of uuid",
        "_bt_findsplitloc in nbtsplitloc.c: the last leaf is split where the left page comes nearest to its fillfactor, 90; "
        "one entry is the high key",
    ),
    "ascending_bytes": Formula(
        "8192 · (1 + L + inner) / N, L = 1 + ceil((N - C) / n) leaves, inner pages at 70 %",
        "ascending_rows; BTREE_NONLEAF_FILLFACTOR 70",
    ),
    "ascending_splits": Formula("(L - 1) / N: 2,732 a million rows of bigint, 3,831 of uuid", "ascending_rows"),
    "ascending_density": Formula("(n + 1) · s / 8152: 0.90", "ascending_rows; pgstatindex counts high keys and line pointers"),
    "random_density": Formula(
        "ln 2 = 0.693 on average; it swings as pages that were split together fill up together",
        "Yao, On random 2-3 trees, Acta Informatica 9 (1978)",
    ),
    "leaf_model": Formula(
        "every key of the run put into leaves that split as PostgreSQL's do: the last one at 90 %, others in the middle",
        "_bt_findsplitloc in nbtsplitloc.c; the model is tree.py of this package",
    ),
    "interior_density": Formula(
        "0.50: ascending keys that land within an index split each page in the middle and never come back to the left half",
        "_bt_findsplitloc in nbtsplitloc.c",
    ),
    "fpi_bytes": Formula(
        "f = 40 + 8152 · fill + s bytes for the image of a leaf after its first new entry, half of it if that splits the leaf; "
        "on average over the leaves by how likely they are reached",
        "XLogRecordAssemble in xloginsert.c leaves out the hole in the middle of a page",
    ),
    "fpi_per_row": Formula(
        "(1 - e^-x) / x images a row, x = rows per leaf between two checkpoints; summed over leaves that are reached as often "
        "as they are full",
        "the first change of a page after a checkpoint writes its image; x random rows reach 1 - e^-x of the pages",
    ),
}
"""By the name that results refer to."""


def images(fills: Sequence[float], rows: int, item: int) -> tuple[float, float]:
    """Return how many leaves random rows reach, and the bytes of their images.

    :param fills: the part of its space that is used, of each leaf.
    :param rows: inserted since a checkpoint.
    :param item: bytes of an entry.
    """
    total = math.fsum(fills)
    count = size = 0.0
    for fill in fills:
        reached = -math.expm1(-rows * fill / total)
        used = tree.USABLE * fill + item
        count += reached
        size += reached * (tree.PAGE - tree.USABLE + (used if used <= tree.USABLE else used / 2))
    return count, size
