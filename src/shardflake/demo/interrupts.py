"""Ctrl-C at any time, and nothing is left running."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Turns Ctrl-C, SIGTERM and SIGHUP into one KeyboardInterrupt.

    Use as a context manager, in the main thread. Set ``over`` before cleaning up: from then on signals are ignored, so that
    nobody who presses the keys twice leaves a server behind.
    """

    def __init__(self) -> None:
        self.over = False
        self._held = False
        self._pending = False

    def __enter__(self) -> Interrupts:
        self._before = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._held:
            self._pending = True
        elif not self.over:
            self.over = True
            raise KeyboardInterrupt

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Let the block end before an interrupt takes effect: a server must not be left half started."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
            if self._pending:
                self.over = True
                raise KeyboardInterrupt
