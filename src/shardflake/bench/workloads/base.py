"""What a workload is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shardflake.bench.contenders import Contender
from shardflake.bench.profiles import Profile
from shardflake.bench.scratch import Bench
from shardflake.bench.section import Params, Section


class Workload:
    """Something that every contender does in every block. Subclasses say what; to add one, list it in ``WORKLOADS``.

    :cvar name: stands in results and on the command line.
    :cvar summary: one line for ``bench list``.
    :cvar needs: capabilities of the server without which it is left out.
    :cvar live: whether keys are made by the contender's default on the server.
    """

    name: str
    summary: str
    needs: frozenset[str] = frozenset()
    live = False

    def contenders(self, known: Sequence[Contender], bench: Bench) -> list[Contender]:
        """Return the contenders that take part: all, or of those with a default all that the server can run."""
        if not self.live:
            return list(known)
        return [each for each in known if each.schema is None or each.schema in bench.can]

    def cases(self, profile: Profile) -> Iterator[Params]:
        """Yield the parameters of each case; every contender runs each."""
        yield {}

    def run(self, section: Section, profile: Profile) -> None:
        """Measure one contender in one case, and emit the records."""
        raise NotImplementedError
