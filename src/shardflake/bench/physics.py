"""What PostgreSQL's B-tree must come to, and why: the formulas that measurements are held against."""

from __future__ import annotations

import math
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
    "ascending_density": Formula(
        "((n + 1) · s + 4) / 8152: 0.90", "ascending_rows; pgstatindex keeps 4 bytes for the next line pointer"
    ),
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
        "f = 40 + 8152 · density bytes for the image of a leaf: the hole in its middle is left out",
        "XLogRecordAssemble in xloginsert.c",
    ),
    "fpi_per_row": Formula(
        "f · (1 - e^-x) / x bytes of images a row, x = rows per leaf between two checkpoints",
        "the first change of a page after a checkpoint writes its image; x random rows reach 1 - e^-x of the pages",
    ),
}
"""By the name that results refer to."""


def image_bytes(density: float) -> float:
    """Return the bytes of a leaf's full-page image."""
    return tree.PAGE - tree.USABLE + tree.USABLE * density


def images_per_row(x: float) -> float:
    """Return full-page images per row for x rows per leaf between two checkpoints."""
    return -math.expm1(-x) / x
