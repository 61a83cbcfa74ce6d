"""The raw identifiers as all searches for them take them, each form made once."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from threading import Lock
from typing import Final, Self

import numpy as np

from shoal.model.names import Pseudonyms
from shoal.model.trajectories import Population
from shoal.runtime.arrays import Integers, distinct
from shoal.verification.leaks.digests import Digests, Hashes, search_hashes
from shoal.verification.leaks.forms import Characters, SideBySide, Words, among, parts_of
from shoal.verification.leaks.glued import Kinds, kinds_of
from shoal.verification.leaks.identifiers import Names

_DigestsOf = Callable[[Sequence[str]], Digests]
_DAY_AT_END: Final = re.compile(r"\W*\d{4}-?\d{2}-?\d{2}$")
_RUN: Final = re.compile(r"[^\W_]+")
_PSEUDONYM: Final = re.compile(r"[0-9a-f]{16}")


class RawIdentifiers:
    """The identifiers of some raw data, for any number of searches; everything here is as secret as they are.

    ids: every subject's, and the person's own where a person's days are the subjects. digests: their hashes.
    """

    def __init__(self, ids: Sequence[str], digests_of: _DigestsOf | None = None) -> None:
        self.ids, self.digests = ids, (digests_of or Digests)(ids)
        self._kinds: Kinds | None = None
        self._numbers: Words | None = None
        self._searched: tuple[Pseudonyms, Hashes] | None = None
        self._lock, self._searching = Lock(), Lock()

    @classmethod
    def of(cls, original: Population, digests_of: _DigestsOf | None = None) -> Self:
        """Those of these people; digests_of: makes and compares their hashes."""
        if not original.intake.reading.per_day:
            return cls(original.ids, digests_of)
        people = (_DAY_AT_END.sub("", uid) for uid in original.ids)
        return cls(tuple(dict.fromkeys(chain(original.ids, people))), digests_of)

    @property
    def kinds(self) -> Kinds:
        """As pieces of longer words."""
        with self._lock:  # of two searches at once, one makes them
            if self._kinds is None:
                self._kinds = kinds_of(self.ids)
            return self._kinds

    @property
    def numbers(self) -> Words:
        """Those that read as a pseudonym does, 16 hexadecimal digits, as numbers."""
        with self._lock:
            if self._numbers is None:
                self._numbers = _numbers_of(self.ids)
            return self._numbers

    def hashes_in(self, names: Pseudonyms) -> Hashes:
        """What their hashes have in common with these names; for the same names it is looked for once."""
        with self._searching:  # whoever asks for the same meanwhile waits
            if self._searched is None or not self._searched[0].equals(names):
                self._searched = names, search_hashes(self.digests, names)
            return self._searched[1]

    def among(self, names: Iterable[str], texts: Iterable[str]) -> Names:
        """Of the identifiers those that can be one of these names, or stand in one of these texts.

        All others are found in none of them, so that they need not be held.
        """
        wanted = frozenset(names)
        wording = _Wording(texts)
        found: list[str] = []
        for part in parts_of(self.ids):
            found += wanted.intersection(chain(part.plain, part.others))
            for folded, runs, own in part.trimmed():
                found += [own[place] for place in wording.holding(folded, runs)]
        return Names.of(found)


class _Wording:
    """Words that stand beside each other in some texts, as many as an identifier has, by their hashes."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._text = "\n".join(text.casefold() for text in texts)
        runs = [run.span() for run in _RUN.finditer(self._text)]
        self._runs = np.array(runs, dtype=np.int64).reshape(-1, 2)
        self._hashes: dict[int, Words] = {}

    def holding(self, folded: SideBySide, runs: Integers) -> list[int]:
        """The places of those of so many words each that may stand in a text."""
        places: list[int] = []
        for n in np.unique(runs).tolist():
            own = np.flatnonzero(runs == n)
            known = among(folded.together.hashes(folded.starts[own], folded.ends[own]), self._of(n))
            places += own[known].tolist()
        return places

    def _of(self, n: int) -> Words:
        if n not in self._hashes:
            starts, ends = self._runs[: max(0, len(self._runs) - n + 1), 0], self._runs[n - 1 :, 1]
            self._hashes[n] = distinct(Characters(self._text).hashes(starts, ends))
        return self._hashes[n]


def _numbers_of(ids: Sequence[str]) -> Words:
    """Identifiers that are 16 hexadecimal digits from the first letter or digit to the last."""
    found = [
        int(word, 16)
        for part in parts_of(ids)
        for folded, runs, _ in part.trimmed()
        for place in np.flatnonzero((runs == 1) & (folded.lengths == 16)).tolist()
        if _PSEUDONYM.fullmatch(word := folded.text(place))
    ]
    return distinct(np.array(found, dtype=np.uint64))
