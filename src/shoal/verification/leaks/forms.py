"""Very many texts as arrays; spans are compared by 64-bit numbers, then as text."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from shoal.model.names import AT_ONCE
from shoal.runtime.arrays import Flags, Integers

Words = npt.NDArray[np.uint64]
_FACTOR: Final = 0x9E3779B97F4A7C15
_INVERSE: Final = pow(_FACTOR, -1, 1 << 64)
_LETTERS_AND_DIGITS: Final = frozenset(b"0123456789abcdefghijklmnopqrstuvwxyz")
_IS_WORD: Final = np.array([code in _LETTERS_AND_DIGITS for code in range(256)])
BETWEEN: Final = re.compile(r"[\W_]+")


def is_among(numbers: Words, sorted_numbers: Words) -> Flags:
    """Which numbers are in ``sorted_numbers``, uint64 [k] ascending."""
    if not len(sorted_numbers):
        return np.zeros(numbers.shape, dtype=np.bool_)
    return np.asarray(sorted_numbers[np.searchsorted(sorted_numbers[:-1], numbers)] == numbers)


class Characters:
    """A text by its characters, uint32 [c]."""

    def __init__(self, text: str | npt.NDArray[np.uint32]) -> None:
        if isinstance(text, str):
            self.text = text
            text = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        self.codes = text

    @cached_property
    def text(self) -> str:
        """As text."""
        return self.codes.tobytes().decode("utf-32-le", "surrogatepass")

    @cached_property
    def _sums(self) -> tuple[Words, Words]:
        n = len(self.codes)
        shrinking, growing = (
            np.multiply.accumulate(np.r_[np.uint64(1), np.full(n, factor, dtype=np.uint64)])
            for factor in (_INVERSE, _FACTOR)
        )
        sums = np.zeros(n + 1, dtype=np.uint64)
        np.cumsum((self.codes + np.uint64(1)) * shrinking[:-1], out=sums[1:])
        return sums, growing

    def hashes(self, starts: Integers, ends: Integers) -> Words:
        """uint64 [n]: the same number for equal spans."""
        sums, growing = self._sums
        return (sums[ends] - sums[starts]) * growing[ends - 1]


@dataclass(frozen=True, eq=False)
class TextSpans:
    """Texts as spans of one. starts, ends: int64 [n]."""

    together: Characters
    starts: Integers
    ends: Integers

    @classmethod
    def of(cls, texts: Sequence[str]) -> Self:
        """These texts in a row."""
        ends = np.cumsum([0, *map(len, texts)])
        return cls(Characters("".join(texts)), ends[:-1], ends[1:])

    @property
    def lengths(self) -> Integers:
        """Length of each."""
        return self.ends - self.starts

    def hashes(self) -> Words:
        """The same number for equal texts."""
        return self.together.hashes(self.starts, self.ends)

    def text(self, number: int) -> str:
        """One text."""
        return self.together.text[self.starts[number] : self.ends[number]]

    def only(self, keep: Flags) -> Self:
        """Only some characters, bool [c]."""
        before = np.concatenate([[0], np.cumsum(keep)])
        return type(self)(Characters(self.together.codes[keep]), before[self.starts], before[self.ends])


@dataclass(frozen=True, eq=False)
class IdentifierPart:
    """Some identifiers: ASCII ones, and others."""

    plain: Sequence[str]
    others: Sequence[str]

    @cached_property
    def lower(self) -> TextSpans:
        """The ASCII identifiers in lower case, end to end."""
        return TextSpans.of([uid.lower() for uid in self.plain])

    def words(self) -> Iterator[tuple[TextSpans, Sequence[str]]]:
        """Letters and digits of each, case-folded; the originals."""
        yield self.lower.only(_IS_WORD[self.lower.together.codes]), self.plain
        yield TextSpans.of([BETWEEN.sub("", uid.casefold()) for uid in self.others]), self.others


def split_identifiers(ids: Sequence[str]) -> Iterator[IdentifierPart]:
    """Identifiers in parts of some ten thousand."""
    for first in range(0, len(ids), AT_ONCE):
        some = list(ids[first : first + AT_ONCE])
        others = [] if "".join(some).isascii() else [uid for uid in some if not uid.isascii()]
        yield IdentifierPart([uid for uid in some if uid.isascii()] if others else some, others)
