"""How fast a piece of work goes, and how long the rest of it takes at that pace."""

from typing import Final

_ENOUGH_S: Final = 1.0  # of work before its rest is estimated
_ENOUGH: Final = 50  # and one part of so many: how the first few go says little


class Pace:
    """The pace of a piece of work that was ``done`` so far at a moment, in seconds."""

    def __init__(self, done: int, now_s: float) -> None:
        self._first, self._done = done, done
        self.began_s = now_s

    def go_on(self, done: int, now_s: float) -> bool:
        """Take note of how much is done; whether it began anew, as the same work for something else does."""
        anew = done < self._done
        if anew:
            self._first, self.began_s = done, now_s
        self._done = done
        return anew

    def left_s(self, total: int, now_s: float) -> float | None:
        """Seconds that the rest takes; None while nothing tells."""
        spent_s, parts = now_s - self.began_s, self._done - self._first
        if spent_s < _ENOUGH_S or parts <= 0 or parts * _ENOUGH < total - self._first:
            return None
        return spent_s * (total - self._done) / parts
