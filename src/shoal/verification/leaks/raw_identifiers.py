"""The raw identifiers in every form for searches, each made once."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from threading import Lock
from typing import Final, Self

import numpy as np

from shoal.model.names import Pseudonyms
from shoal.model.population import Population
from shoal.runtime.arrays import Integers, distinct
from shoal.verification.leaks.digests import Digests, HashSearch, search_hashes
from shoal.verification.leaks.forms import Characters, TextSpans, Words, is_among, split_identifiers
from shoal.verification.leaks.glued import IdentifierKinds, identifier_kinds
from shoal.verification.leaks.identifiers import Names

_DigestsOf = Callable[[Sequence[str]], Digests]
_DAY_AT_END: Final = re.compile(r"\W*\d{4}-?\d{2}-?\d{2}$")
_RUN: Final = re.compile(r"[^\W_]+")
_PSEUDONYM: Final = re.compile(r"[0-9a-f]{16}")


class RawIdentifiers:
    """Identifiers in every form for searches; all are as secret as the identifiers."""

    def __init__(self, ids: Sequence[str], digests_of: _DigestsOf | None = None) -> None:
        self.ids, self.digests = ids, (digests_of or Digests)(ids)
        self._kinds: IdentifierKinds | None = None
        self._numbers: Words | None = None
        self._searched: tuple[Pseudonyms, HashSearch] | None = None
        self._lock, self._searching = Lock(), Lock()

    @classmethod
    def of(cls, original: Population, digests_of: _DigestsOf | None = None) -> Self:
        """Of these people; digests_of: makes and compares hashes."""
        if not original.intake.reading.per_day:
            return cls(original.ids, digests_of)
        people = (_DAY_AT_END.sub("", uid) for uid in original.ids)
        return cls(tuple(dict.fromkeys(chain(original.ids, people))), digests_of)

    @property
    def kinds(self) -> IdentifierKinds:
        """As pieces of words."""
        with self._lock:  # made once even if two searches start together
            if self._kinds is None:
                self._kinds = identifier_kinds(self.ids)
            return self._kinds

    @property
    def numbers(self) -> Words:
        """Those of 16 hexadecimal digits, as numbers."""
        with self._lock:
            if self._numbers is None:
                self._numbers = _numbers_of(self.ids)
            return self._numbers

    def hashes_in(self, names: Pseudonyms) -> HashSearch:
        """Search names for hashes; the last search is remembered."""
        with self._searching:  # a second caller waits for the same result
            if self._searched is None or not self._searched[0].equals(names):
                self._searched = names, search_hashes(self.digests, names)
            return self._searched[1]

    def relevant_names(self, names: Iterable[str], texts: Iterable[str]) -> Names:
        """Those that can be one of these names, or stand in one of these texts."""
        name_set = frozenset(names)
        wording = _WordSequences(texts)
        identifiers: list[str] = []
        for part in split_identifiers(self.ids):
            identifiers += name_set.intersection(chain(part.plain, part.others))
            for folded, runs, originals in part.trimmed():
                identifiers += [originals[place] for place in wording.rows_that_occur(folded, runs)]
        return Names.of(identifiers)


class _WordSequences:
    def __init__(self, texts: Iterable[str]) -> None:
        self._text = "\n".join(text.casefold() for text in texts)
        runs = [run.span() for run in _RUN.finditer(self._text)]
        self._runs = np.array(runs, dtype=np.int64).reshape(-1, 2)
        self._hashes: dict[int, Words] = {}

    def rows_that_occur(self, folded: TextSpans, runs: Integers) -> list[int]:
        """runs: words in each."""
        places: list[int] = []
        for n in np.unique(runs).tolist():
            rows = np.flatnonzero(runs == n)
            matched = is_among(folded.together.hashes(folded.starts[rows], folded.ends[rows]), self._of(n))
            places += rows[matched].tolist()
        return places

    def _of(self, n: int) -> Words:
        if n not in self._hashes:
            starts, ends = self._runs[: max(0, len(self._runs) - n + 1), 0], self._runs[n - 1 :, 1]
            self._hashes[n] = distinct(Characters(self._text).hashes(starts, ends))
        return self._hashes[n]


def _numbers_of(ids: Sequence[str]) -> Words:
    numbers = [
        int(word, 16)
        for part in split_identifiers(ids)
        for folded, runs, _ in part.trimmed()
        for place in np.flatnonzero((runs == 1) & (folded.lengths == 16)).tolist()
        if _PSEUDONYM.fullmatch(word := folded.text(place))
    ]
    return distinct(np.array(numbers, dtype=np.uint64))
