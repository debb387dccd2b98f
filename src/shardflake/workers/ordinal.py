"""Worker ids from the number at the end of a host's name, as StatefulSets give their pods."""

from __future__ import annotations

import re
import socket

from shardflake.errors import InvalidIdError


def worker_of_ordinal(first: int, name: str | None = None) -> int:
    """Return the worker id of a numbered pod: ``first`` for ``web-0``, ``first + 7`` for ``web-7``.

    The lease still has to be claimed: two sets of pods with one range would hold the same ids.

    :param first: the worker id of number 0.
    :param name: a name that ends in ``-`` and a number; the host's name by default.
    :raises InvalidIdError: for a name without a number.
    """
    name = name if name is not None else socket.gethostname()
    found = re.search(r"-(\d{1,5})$", name)
    if found is None:
        raise InvalidIdError(f"{name!r} does not end in a number such as -0; give the worker id itself")
    return first + int(found[1])
