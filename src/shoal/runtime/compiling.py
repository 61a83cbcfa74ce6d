"""How long this process has spent on compiling kernels, which happens once, on their first use."""

import gc
import time
from collections.abc import Callable


class Compiling:
    """Counts kernels that are compiled, and seconds; those of a kernel inside another one count once.

    Meanwhile Python does not look for garbage: a compiler makes so many objects that live on that looking
    took a tenth of its time.

    listeners: called whenever a kernel begins to be compiled.
    """

    def __init__(self) -> None:
        self.kernels = 0
        self.listeners: list[Callable[[], None]] = []
        self._depth = 0
        self._began_s = 0.0
        self._seconds = 0.0
        self._collects = False  # garbage, as it did before

    def begin(self) -> None:
        """A kernel begins to be compiled."""
        if not self._depth:
            self._began_s = time.monotonic()
            self._collects = gc.isenabled()
            gc.disable()
        self._depth += 1
        self.kernels += 1
        for listener in tuple(self.listeners):
            listener()

    def end(self) -> None:
        """The last that began is compiled."""
        if not self._depth:
            return  # it was given up
        self._depth -= 1
        if not self._depth:
            self._seconds += time.monotonic() - self._began_s
            if self._collects:
                gc.enable()

    def give_up(self) -> None:
        """None that began will be compiled."""
        while self._depth:
            self.end()

    @property
    def seconds(self) -> float:
        """By the clock, up to now."""
        return self._seconds + (time.monotonic() - self._began_s if self._depth else 0.0)


COMPILING = Compiling()
"""That of this process."""
