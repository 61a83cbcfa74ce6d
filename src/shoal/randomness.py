"""Where chance comes from: the operating system for a release, a seed for research.

A method never draws from an ambient generator; it is handed one of these. A seed would let its holder undo the shuffle,
so a seeded stream marks what it touches as not for publication, and never shows its seed.
"""

import os
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

_PSEUDONYM_BYTES: Final = 8


class Randomness:
    """A stream of random bytes, and the few draws that releases need, made from it."""

    def __init__(self, draw_bytes: Callable[[int], bytes], *, publishable: bool) -> None:
        self._draw_bytes = draw_bytes
        self.publishable = publishable

    @classmethod
    def from_system(cls) -> "Randomness":
        """The operating system's generator: the only stream a published release may use."""
        return cls(os.urandom, publishable=True)

    @classmethod
    def for_research(cls, seed: int) -> "Randomness":
        """A repeatable stream; what is made with it is marked as not for publication (semantics 3.7)."""
        return cls(np.random.Generator(np.random.PCG64(seed)).bytes, publishable=False)

    def permutation(self, n: int) -> npt.NDArray[np.int64]:
        """A uniformly random order of 0..n-1, from one 64-bit key each (ties are broken by redrawing)."""
        while True:
            keys = np.frombuffer(self._draw_bytes(8 * n), dtype=np.uint64)
            if np.unique(keys).size == n:
                return np.argsort(keys).astype(np.int64)

    def pseudonyms(self, n: int) -> tuple[str, ...]:
        """``n`` different fresh names of 16 hexadecimal digits, without relation to anything."""
        names: dict[str, None] = {}
        while len(names) < n:
            names[self._draw_bytes(_PSEUDONYM_BYTES).hex()] = None
        return tuple(names)

    def __repr__(self) -> str:
        return "Randomness(operating system)" if self.publishable else "Randomness(research seed, not for publication)"
