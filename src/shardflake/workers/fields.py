"""How a layout's fields are used by a worker: its time, its counter, and the rest for the worker id."""

from __future__ import annotations

from shardflake.errors import InvalidIdError
from shardflake.layout import Layout

_COUNTERS = ("counter", "sequence")


class WorkerFields:
    """A layout with a worker's id filled in: what is left to choose is the tick and the counter.

    The worker id fills all fields but the time and the counter, as one number, the most significant field first.

    :param layout: one with a field ``time`` and a field ``counter`` or ``sequence``.
    :raises InvalidIdError: for a layout without a counter or without room for a worker.
    """

    def __init__(self, layout: Layout) -> None:
        counters = [field for field in layout.fields if field.name in _COUNTERS]
        self._worker = [field for field in layout.fields if field.name != "time" and field not in counters]
        if len(counters) != 1 or not self._worker:
            names = [field.name for field in layout.fields]
            raise InvalidIdError(f"layout {layout.name} has the fields {names}; a worker needs a counter and one for its id")
        self._shifts = layout.shifts
        self.layout = layout
        self.tick_ns = layout.tick_ms * 1_000_000
        self.epoch_ns = layout.epoch_ms * 1_000_000
        self.workers = 1 << sum(field.bits for field in self._worker)
        self.step = 1 << layout.shifts[counters[0].name]
        self.span = counters[0].capacity * self.step
        self.last_tick = layout.time.capacity - 1

    def ids(self, tick: int, worker: int) -> range:
        """Return every id of one tick of a worker, ascending; both fit their fields."""
        base = tick << self._shifts["time"]
        for field in reversed(self._worker):
            worker, part = divmod(worker, field.capacity)
            base |= part << self._shifts[field.name]
        return range(base, base + self.span, self.step)

    def check_worker(self, worker: int) -> None:
        """Raise InvalidIdError for a worker id that does not fit the layout."""
        if not 0 <= worker < self.workers:
            raise InvalidIdError(
                f"worker {worker} does not fit layout {self.layout.name}, which has room for 0 to {self.workers - 1}; "
                "reserve a range that does"
            )
