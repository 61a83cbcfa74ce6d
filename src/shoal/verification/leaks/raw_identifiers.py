"""The raw identifiers in every form for searches, each made once."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from threading import Lock
from typing import Any, Final, Self

import numpy as np

from shoal.model.names import PSEUDONYM, PSEUDONYM_DIGITS, Pseudonyms
from shoal.model.population import Population
from shoal.runtime.arrays import Flags, distinct
from shoal.verification.leaks.digests import Digests, HashSearch, search_hashes
from shoal.verification.leaks.forms import TextSpans, Words, is_among, split_identifiers
from shoal.verification.leaks.glued import IdentifierKinds, identifier_kinds
from shoal.verification.leaks.identifiers import Names

_DigestsOf = Callable[[Sequence[str]], Digests]
_DAY_AT_END: Final = re.compile(r"\W*\d{4}-?\d{2}-?\d{2}$")
_RUN: Final = re.compile(r"[^\W_]+")


class RawIdentifiers:
    """Identifiers in every form for searches; all are as secret as the identifiers."""

    def __init__(self, ids: Sequence[str], digests_of: _DigestsOf | None = None) -> None:
        self.ids, self.digests = ids, (digests_of or Digests)(ids)
        self._searched: tuple[Pseudonyms, HashSearch] | None = None
        self._made: dict[str, Any] = {}
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
        kinds: IdentifierKinds = self._once("kinds", lambda: identifier_kinds(self.ids))
        return kinds

    @property
    def numbers(self) -> Words:
        """Those of 16 hexadecimal digits, as numbers."""
        numbers: Words = self._once("numbers", lambda: _numbers_of(self.ids))
        return numbers

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        with self._lock:  # made once even if two searches start together
            if name not in self._made:
                self._made[name] = make()
            return self._made[name]

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
            for words, originals in part.words():
                places = np.flatnonzero(wording.may_occur(words, originals)).tolist()
                identifiers += [originals[place] for place in places]
        return Names.of(identifiers)


class _WordSequences:
    """Words that follow each other in texts, whatever stands between."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._runs = TextSpans.of(_RUN.findall("\n".join(text.casefold() for text in texts)))
        self._hashes: dict[int, Words] = {}

    def may_occur(self, words: TextSpans, originals: Sequence[str]) -> Flags:
        """[n]; words: letters and digits of each, case-folded."""
        folded = zip(map(str.casefold, originals), words.lengths.tolist(), strict=True)
        most = max((1 + len(uid) - length for uid, length in folded), default=0)
        found = np.zeros(len(originals), dtype=np.bool_)
        for n in range(1, 1 + min(most, len(self._runs.starts))):
            found |= is_among(words.hashes(), self._of(n))
        return found

    def _of(self, n: int) -> Words:
        if n not in self._hashes:
            starts, ends = self._runs.starts[: len(self._runs.starts) - n + 1], self._runs.ends[n - 1 :]
            self._hashes[n] = distinct(self._runs.together.hashes(starts, ends))
        return self._hashes[n]


def _numbers_of(ids: Sequence[str]) -> Words:
    numbers = [
        int(word, 16)
        for part in split_identifiers(ids)
        for words, originals in part.words()
        for position in np.flatnonzero(words.lengths == PSEUDONYM_DIGITS).tolist()
        if PSEUDONYM.fullmatch(word := words.text(position)) and word in originals[position].casefold()
    ]
    return distinct(np.array(numbers, dtype=np.uint64))
