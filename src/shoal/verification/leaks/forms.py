"""Very many texts side by side as arrays of characters, so that each form of them is made of all at once.

A span of characters is compared by a number of 64 bits, the same for equal ones. What is found so is looked
at once more as text where it would count.
"""

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
_BETWEEN: Final = re.compile(r"[\W_]+")
_RUN: Final = re.compile(r"[^\W_]+")


def among(numbers: Words, known: Words) -> Flags:
    """Boolean, as numbers: which of them are among those known, uint64 [k] ascending."""
    if not len(known):
        return np.zeros(numbers.shape, dtype=np.bool_)
    return np.asarray(known[np.searchsorted(known[:-1], numbers)] == numbers)


class Characters:
    """A text by its characters. codes: uint32 [c]."""

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
        """Of all characters before each place, and what makes them those of a span that ends there."""
        n = len(self.codes)
        shrinking, growing = (
            np.multiply.accumulate(np.r_[np.uint64(1), np.full(n, factor, dtype=np.uint64)])
            for factor in (_INVERSE, _FACTOR)
        )
        sums = np.zeros(n + 1, dtype=np.uint64)
        np.cumsum((self.codes + np.uint64(1)) * shrinking[:-1], out=sums[1:])
        return sums, growing

    def hashes(self, starts: Integers, ends: Integers) -> Words:
        """uint64 [n]: a number for each span, the same for equal ones."""
        sums, growing = self._sums
        return (sums[ends] - sums[starts]) * growing[ends - 1]


@dataclass(frozen=True, eq=False)
class SideBySide:
    """Texts as spans of one. starts, ends: int64 [n]."""

    together: Characters
    starts: Integers
    ends: Integers

    @classmethod
    def of(cls, texts: Sequence[str]) -> Self:
        """These, as they are."""
        ends = np.cumsum([0, *map(len, texts)])
        return cls(Characters("".join(texts)), ends[:-1], ends[1:])

    @property
    def lengths(self) -> Integers:
        """How long each is."""
        return self.ends - self.starts

    def hashes(self) -> Words:
        """A number for each."""
        return self.together.hashes(self.starts, self.ends)

    def text(self, number: int) -> str:
        """One of them."""
        return self.together.text[self.starts[number] : self.ends[number]]

    def only(self, kept: Flags) -> Self:
        """Without the characters that are not kept."""
        before = np.concatenate([[0], np.cumsum(kept)])
        return type(self)(Characters(self.together.codes[kept]), before[self.starts], before[self.ends])


@dataclass(frozen=True, eq=False)
class Part:
    """Some identifiers: those of ASCII, and the others, whose forms follow from no table of characters."""

    plain: Sequence[str]
    others: Sequence[str]

    @cached_property
    def lower(self) -> SideBySide:
        """Those of ASCII in lower case, which is how they are folded."""
        together = Characters("".join(self.plain).lower())
        ends = np.cumsum([0, *map(len, self.plain)])
        return SideBySide(together, ends[:-1], ends[1:])

    def words(self) -> Iterator[SideBySide]:
        """The letters and digits of each, folded."""
        yield self.lower.only(_IS_WORD[self.lower.together.codes])
        yield SideBySide.of([_BETWEEN.sub("", uid.casefold()) for uid in self.others])

    def trimmed(self) -> Iterator[tuple[SideBySide, Integers, Sequence[str]]]:
        """Each folded, from its first letter or digit to its last; how many runs these make; as it is.

        Those without any are left out.
        """
        lower = self.lower
        kept = _IS_WORD[lower.together.codes]
        begins = kept.copy()
        begins[1:] &= ~kept[:-1]
        begins[lower.starts[lower.lengths > 0]] = kept[lower.starts[lower.lengths > 0]]
        before, runs_before = (np.concatenate([[0], np.cumsum(flags)]) for flags in (kept, begins))
        places = np.flatnonzero(kept)
        own = np.flatnonzero(before[lower.ends] > before[lower.starts])
        starts, ends = lower.starts[own], lower.ends[own]
        spans = SideBySide(lower.together, places[before[starts]], places[before[ends] - 1] + 1)
        yield spans, runs_before[ends] - runs_before[starts], [self.plain[place] for place in own.tolist()]
        texts, counts, names = [], [], []
        for uid in self.others:
            folded = uid.casefold()
            if runs := [run.span() for run in _RUN.finditer(folded)]:
                texts.append(folded[runs[0][0] : runs[-1][1]])
                counts.append(len(runs))
                names.append(uid)
        yield SideBySide.of(texts), np.array(counts, dtype=np.int64), names


def parts_of(ids: Sequence[str]) -> Iterator[Part]:
    """Some ten thousands at once."""
    for first in range(0, len(ids), AT_ONCE):
        some = list(ids[first : first + AT_ONCE])
        others = [] if "".join(some).isascii() else [uid for uid in some if not uid.isascii()]
        yield Part([uid for uid in some if uid.isascii()] if others else some, others)
