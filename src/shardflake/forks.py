"""After a fork the child drops what it must not share with its parent: blocks, leases, connections."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class DroppedInChildren(Protocol):
    """What can be watched; weakly, so that it can go away."""

    def _after_fork(self) -> None:
        """Start anew, in the child: no thread but the present one is left, and locks may be held for ever."""


_WATCHED: weakref.WeakSet[DroppedInChildren] = weakref.WeakSet()


def drop_in_children(item: DroppedInChildren) -> None:
    """Have an object's ``_after_fork()`` called in every child that this process forks."""
    _WATCHED.add(item)


def _drop_all() -> None:
    for item in list(_WATCHED):
        item._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_all)
