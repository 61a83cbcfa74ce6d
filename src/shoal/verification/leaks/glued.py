"""Identifiers inside longer words: with something before or behind, or without what stands between.

``xcaller-0007y`` and ``caller0007`` tell who it is as ``caller-0007`` does. Such pieces also stand in long
words by chance, in digests most of all. So identifiers and words are taken without what is no letter and no
digit, and every piece of a word that is as long as an identifier is compared with it. What is found counts
when chance explains so many in fewer than one of a million releases.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import lgamma, log
from typing import Final

import numpy as np

from shoal.model.names import Pseudonyms
from shoal.runtime.arrays import Flags, Integers, distinct
from shoal.verification.leaks.forms import Characters, SideBySide, Words, among, parts_of

FALSE_ALARMS: Final = 1e-6  # the share of honest releases, at most, that pieces found by chance refuse
SHORTEST_MIXED: Final = 6  # letters and digits together
SHORTEST_NUMBER: Final = 9  # digits alone
_LETTERS_AND_DIGITS: Final = (
    16  # what stands at each place of a word at the least: digests have 16 characters
)
_DIGITS: Final = 10
_DIGITS_OF_PSEUDONYMS: Final = 16
_LONGEST: Final = 64
_CHARACTERS_AT_ONCE: Final = 1 << 20
_WORD: Final = re.compile(r"[^\W_]+(?:[-_.:@+/][^\W_]+)*")
_NUMBER: Final = re.compile(r"(?<![\d.#])\d+(?![\d]|\.\d)")
_BETWEEN: Final = re.compile(r"[\W_]+")
_CODES_OF_DIGITS: Final = (ord("0"), ord("9"))
_CODES_OF_HEX: Final = (ord("a"), ord("f"))


@dataclass(frozen=True, eq=False, repr=False)
class Kind:
    """Identifiers of one length, of letters and digits or of digits alone.

    beyond_hex: whether each has a letter that no hexadecimal number has, so that digests are not compared.
    hashes: of the different ones, ascending.
    """

    length: int
    alphabet: int
    beyond_hex: bool
    hashes: Words


@dataclass(frozen=True, eq=False, repr=False)
class Kinds:
    """All identifiers that can be told from chance, by length and characters. ids: as they are."""

    ids: Sequence[str]
    every: tuple[Kind, ...]

    def with_hashes(self, hashes: Words) -> frozenset[str]:
        """The identifiers, without what is no letter and no digit, that have such a hash."""
        return frozenset(
            words.text(number)
            for part in parts_of(self.ids)
            for words in part.words()
            for number in np.flatnonzero(among(words.hashes(), hashes)).tolist()
        )


@dataclass(eq=False, repr=False)
class _Search:
    """What was found of one kind.

    windows: pieces of words that were compared; met: the hashes of those that may be identifiers; found: the
    identifiers, by the number of their text.
    """

    kind: Kind
    windows: int = 0
    met: list[Words] = field(default_factory=list)
    found: dict[int, set[str]] = field(default_factory=dict)

    def is_beyond_chance(self, level: float, n: int) -> bool:
        """Whether so many different ones come by chance less often than the level (Poisson)."""
        kind = self.kind
        expected = self.windows * len(kind.hashes) / float(kind.alphabet) ** kind.length
        return n > 0 and n * log(expected) - lgamma(n + 1) < log(level)


@dataclass(frozen=True, eq=False, repr=False)
class _Words:
    """Words without what stands between their parts, and the number of the text that each is from.

    regular: whether they are pseudonyms, which are hexadecimal.
    """

    words: SideBySide
    owners: Integers
    regular: bool = False


def glued(kinds: Kinds, texts: Sequence[str]) -> list[int]:
    """How many identifiers stand inside longer words of each text, beyond what chance explains."""
    found = inside(kinds, texts)
    return [found.get(place, 0) for place in range(len(texts))]


def inside(kinds: Kinds, texts: Sequence[str]) -> Mapping[int, int]:
    """The same of those texts that have any, by their places."""
    searches = [_Search(kind) for kind in kinds.every]
    for words, own in _in_parts(texts, searches):
        for search, _, hashes in _compared(words, own, counted=True):
            search.met.append(distinct(hashes))
    level = FALSE_ALARMS / max(1, len(searches))
    met = {id(search): distinct(np.concatenate(search.met)) for search in searches if search.met}
    likely = [search for search in searches if search.is_beyond_chance(level, len(met.get(id(search), ())))]
    if not likely:
        return {}
    real = kinds.with_hashes(distinct(np.concatenate([met[id(search)] for search in likely])))
    for words, own in _in_parts(texts, likely):
        for search, at, _ in _compared(words, own, counted=False):
            together, length = words.words.together.text, search.kind.length
            owner = words.owners[np.searchsorted(words.words.starts, at, side="right") - 1]
            for first, place in zip(at.tolist(), owner.tolist(), strict=True):
                if (piece := together[first : first + length]) in real:
                    search.found.setdefault(place, set()).add(piece)
    counts: Counter[int] = Counter()
    for search in likely:
        if search.is_beyond_chance(level, len(set().union(*search.found.values()))):
            counts.update({place: len(names) for place, names in search.found.items()})
    return counts


def kinds_of(ids: Sequence[str]) -> Kinds:
    """The identifiers that can be told from chance."""
    groups: dict[tuple[int, int, bool], list[Words]] = {}
    for part in parts_of(ids):
        for words in part.words():
            classes = _classes(words.together)
            letters, digits, hexes = (_counted(flags, words.starts, words.ends) for flags in classes)
            length = words.lengths
            number = (letters == 0) & (length >= SHORTEST_NUMBER)
            mixed = (digits > 0) & (digits < length) & ~number & (length >= SHORTEST_MIXED)
            hashes = words.hashes()
            for alphabet, beyond_hex, own in (
                (_DIGITS, False, number),
                (_LETTERS_AND_DIGITS, False, mixed & (hexes == length)),
                (_LETTERS_AND_DIGITS, True, mixed & (hexes < length)),
            ):
                for size in np.unique(length[own & (length <= _LONGEST)]).tolist():
                    some = distinct(hashes[own & (length == size)])
                    groups.setdefault((size, alphabet, beyond_hex), []).append(some)
    return Kinds(ids, tuple(Kind(*key, distinct(np.concatenate(groups[key]))) for key in sorted(groups)))


def _classes(text: Characters) -> tuple[Flags, Flags, Flags]:
    """Boolean [characters]: which are letters, digits of 0 to 9, and digits of hexadecimal numbers."""
    codes = text.codes
    digits = (codes >= _CODES_OF_DIGITS[0]) & (codes <= _CODES_OF_DIGITS[1])
    hexes = digits | ((codes >= _CODES_OF_HEX[0]) & (codes <= _CODES_OF_HEX[1]))
    letters = ~digits
    for place in np.flatnonzero(codes >= 128).tolist():
        letters[place] = text.text[place].isalpha()
    return letters, digits, hexes


def _counted(flags: Flags, starts: Integers, ends: Integers) -> Integers:
    """How many are set in each span."""
    before = np.concatenate([[0], np.cumsum(flags)])
    return np.asarray(before[ends] - before[starts])


def _in_parts(texts: Sequence[str], searches: Sequence[_Search]) -> Iterator[tuple[_Words, list[_Search]]]:
    """The words that each search needs, some million characters at once."""
    for alphabet, pattern in ((_LETTERS_AND_DIGITS, _WORD), (_DIGITS, _NUMBER)):
        own = [search for search in searches if search.kind.alphabet == alphabet]
        if not own:
            continue
        shortest = min(search.kind.length for search in own)
        if not isinstance(texts, Pseudonyms):
            for words in _words_of(enumerate(texts), pattern, shortest):
                yield words, own
            continue
        for words in _words_of(texts.irregular.items(), pattern, shortest):
            yield words, own
        if any(_may_be_in_pseudonyms(search.kind) for search in own):
            for words in _regular(texts):
                yield words, [search for search in own if _may_be_in_pseudonyms(search.kind)]


def _may_be_in_pseudonyms(kind: Kind) -> bool:
    return kind.length <= _DIGITS_OF_PSEUDONYMS and not kind.beyond_hex


def _regular(names: Pseudonyms) -> Iterator[_Words]:
    """The pseudonyms that are 16 hexadecimal digits."""
    size = max(1, _CHARACTERS_AT_ONCE // _DIGITS_OF_PSEUDONYMS)
    for first in range(0, len(names), size):
        owners = np.arange(first, min(first + size, len(names)))
        if names.irregular:
            owners = owners[~np.isin(owners, list(names.irregular))]
        text = names.numbers[owners].astype(">u8").tobytes().hex()
        starts = np.arange(len(owners)) * _DIGITS_OF_PSEUDONYMS
        words = SideBySide(Characters(text), starts, starts + _DIGITS_OF_PSEUDONYMS)
        yield _Words(words, owners, regular=True)


def _words_of(texts: Iterable[tuple[int, str]], pattern: re.Pattern[str], shortest: int) -> Iterator[_Words]:
    """The words of texts by their places."""
    words: list[str] = []
    owners: list[int] = []
    size = 0
    for place, text in texts:
        for found in pattern.findall(text.casefold()):
            if len(found) < shortest:
                continue
            word = found if found.isalnum() else _BETWEEN.sub("", found)
            if len(word) >= shortest:
                words.append(word)
                owners.append(place)
                size += len(word)
        if size > _CHARACTERS_AT_ONCE:
            yield _Words(SideBySide.of(words), np.array(owners))
            words, owners, size = [], [], 0
    if words:
        yield _Words(SideBySide.of(words), np.array(owners))


def _compared(
    words: _Words, searches: Sequence[_Search], *, counted: bool
) -> Iterator[tuple[_Search, Integers, Words]]:
    """Each search, where words have pieces that may be an identifier of its kind, and the hashes of these.

    counted: whether it is to count what was compared.
    """
    text = words.words.together
    ends = np.repeat(words.words.ends, words.words.lengths)
    _, is_digit, is_hex = _classes(text)
    digits, hexes = (np.concatenate([[0], np.cumsum(flags)]) for flags in (is_digit, is_hex))
    for search in searches:
        kind = search.kind
        first = np.arange(max(0, len(text.codes) - kind.length + 1))
        behind = first + kind.length
        whole = behind <= ends[: len(first)]
        n_digits = digits[behind] - digits[first]
        if kind.alphabet == _LETTERS_AND_DIGITS:
            whole &= (n_digits > 0) & (n_digits < kind.length)
        elif words.regular:
            whole &= n_digits == kind.length
        if kind.beyond_hex:
            whole &= hexes[behind] - hexes[first] < kind.length
        first = first[whole]
        if counted:
            search.windows += len(first)
        hashes = text.hashes(first, first + kind.length)
        order = np.argsort(hashes)
        known = order[among(hashes[order], kind.hashes)]
        yield search, np.sort(first[known]), hashes[known]
