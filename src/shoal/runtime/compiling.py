"""Measures how long kernels compile, on their first use."""

import gc
import time
from collections.abc import Callable


class CompileTimer:
    """Counts kernels and seconds, nested kernels once; ``listeners`` are called at each start."""

    # Garbage collection pauses meanwhile: compilers create many long-lived objects, and collecting took a
    # tenth of the time.

    def __init__(self) -> None:
        self.kernels = 0
        self.listeners: list[Callable[[], None]] = []
        self._depth = 0
        self._began_s = 0.0
        self._seconds = 0.0
        self._collects = False  # garbage, as it did before

    def begin(self) -> None:
        """A kernel starts."""
        if not self._depth:
            self._began_s = time.monotonic()
            self._collects = gc.isenabled()
            gc.disable()
        self._depth += 1
        self.kernels += 1
        for listener in tuple(self.listeners):
            listener()

    def end(self) -> None:
        """The last started kernel is compiled."""
        if not self._depth:
            return  # it was given up
        self._depth -= 1
        if not self._depth:
            self._seconds += time.monotonic() - self._began_s
            if self._collects:
                gc.enable()

    def abandon(self) -> None:
        """No started kernel will be compiled."""
        while self._depth:
            self.end()

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return self._seconds + (time.monotonic() - self._began_s if self._depth else 0.0)


COMPILING = CompileTimer()
"""That of this process."""
