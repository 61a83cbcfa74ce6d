"""Sources of randomness: the system's for a release, a seed for research.

A method never draws from an ambient generator. A seed would undo the shuffle: a seeded stream marks its
results as not for publication and never shows its seed.
"""

import os
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from shoal.errors import MisuseError
from shoal.runtime.arrays import Integers, distinct
from shoal.units import is_whole

_PSEUDONYM_BYTES: Final = 8


class Randomness:
    """A stream of random bytes, and the draws that releases need.

    Create one with ``from_system`` or ``for_research``.

    Parameters
    ----------
    draw_bytes : callable
        Returns this many fresh random bytes.
    publishable : bool
        Whether results may be published.

    Examples
    --------
    >>> import shoal
    >>> shoal.Randomness.from_system()
    Randomness(operating system)
    >>> shoal.Randomness.for_research(7).permutation(4).tolist()
    [3, 0, 2, 1]
    """

    def __init__(self, draw_bytes: Callable[[int], bytes], *, publishable: bool) -> None:
        self._bytes = draw_bytes
        self._generator: np.random.Generator | None = None
        self.publishable = publishable

    @classmethod
    def from_system(cls) -> "Randomness":
        """The operating system's generator, the only one for published releases."""
        return cls(os.urandom, publishable=True)

    @classmethod
    def for_research(cls, seed: int) -> "Randomness":
        """A repeatable stream, whose results are marked as not for publication."""
        if not is_whole(seed) or seed < 0:
            raise MisuseError("a research seed must be a whole number of at least 0, for example 1")
        generator = np.random.Generator(np.random.PCG64(int(seed)))
        stream = cls(generator.bytes, publishable=False)
        stream._generator = generator
        return stream

    def generator(self) -> np.random.Generator:
        """A NumPy generator from this stream, for measurements; methods use the draws of this class.

        With a research seed it equals ``numpy.random.default_rng(seed)``.
        """
        if self._generator is None:
            self._generator = np.random.default_rng(int.from_bytes(self._bytes(32)))
        return self._generator

    def permutation(self, n: int) -> Integers:
        """A random order of 0..n-1, by 64-bit keys; equal keys cause a new draw."""
        while True:
            keys = np.frombuffer(self._bytes(8 * n), dtype=np.uint64)
            if len(distinct(keys)) == n:
                return np.argsort(keys).astype(np.int64)

    def permutations(self, rows: int, n: int) -> Integers:
        """int64 [rows, n]: independent uniform orders of 0..n-1."""
        orders = np.empty((rows, n), dtype=np.int64)
        waiting = np.arange(rows)
        while len(waiting):
            keys = np.frombuffer(self._bytes(8 * n * len(waiting)), dtype=np.uint64).reshape(len(waiting), n)
            orders[waiting] = np.argsort(keys, axis=1)
            ordered = np.take_along_axis(keys, orders[waiting], axis=1)
            waiting = waiting[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]
        return orders

    def below(self, limit: int, count: int) -> Integers:
        """int64 [count]: independent, each of 0..limit-1 equally likely.

        Draws beyond the last full round are repeated.
        """
        numbers = np.empty(count, dtype=np.int64)
        waiting, full = np.arange(count), 2**63 - 2**63 % limit
        while len(waiting):
            drawn = np.frombuffer(self._bytes(8 * len(waiting)), dtype=np.uint64) >> np.uint64(1)
            numbers[waiting] = (drawn % np.uint64(limit)).astype(np.int64)
            waiting = waiting[drawn >= full]
        return numbers

    def pseudonyms(self, n: int) -> tuple[str, ...]:
        """``n`` distinct fresh names of 16 hexadecimal digits."""
        text, step = self.pseudonym_numbers(n).astype(">u8").tobytes().hex(), 2 * _PSEUDONYM_BYTES
        return tuple(text[at : at + step] for at in range(0, len(text), step))

    def pseudonym_numbers(self, n: int) -> npt.NDArray[np.uint64]:
        """uint64 [n]: the names that ``pseudonyms`` would draw, as numbers."""
        numbers = np.empty(0, dtype=np.uint64)
        while missing := n - len(numbers):
            drawn = np.frombuffer(self._bytes(_PSEUDONYM_BYTES * missing), dtype=">u8")
            numbers = np.concatenate([numbers, drawn.astype(np.uint64)])
            first = np.unique(numbers, return_index=True)[1]
            numbers = numbers if len(first) == len(numbers) else numbers[np.sort(first)]
        return numbers

    def __repr__(self) -> str:
        return (
            "Randomness(operating system)"
            if self.publishable
            else "Randomness(research seed, not for publication)"
        )


def require_randomness(value: object) -> None:
    """Raise MisuseError unless it is a Randomness; the message hides it, as it may be a seed."""
    if not isinstance(value, Randomness):
        raise MisuseError(
            "chance is drawn from a shoal.Randomness: Randomness.from_system() for what is published, "
            f"Randomness.for_research(seed) for trials; this is a value of type {type(value).__name__}"
        )
