"""Find identifiers inside longer words or without separators, beyond chance."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

import numpy as np

from shoal.model.names import PSEUDONYM_DIGITS, Pseudonyms
from shoal.runtime.arrays import Flags, Integers, distinct
from shoal.verification.leaks.digests import FALSE_ALARMS, is_beyond_chance
from shoal.verification.leaks.forms import BETWEEN, Characters, TextSpans, Words, is_among, split_identifiers

SHORTEST_MIXED: Final = 6  # letters and digits together
SHORTEST_NUMBER: Final = 9  # digits alone
_LETTERS_AND_DIGITS: Final = 16  # smallest alphabet: digests have 16 characters
_DIGITS: Final = 10
_LONGEST: Final = 64
_CHARACTERS_AT_ONCE: Final = 1 << 20
_WORD: Final = re.compile(r"[^\W_]+(?:[-_.:@+/][^\W_]+)*")
_NUMBER: Final = re.compile(r"(?<![\d.#])\d+(?![\d]|\.\d)")
_CODES_OF_DIGITS: Final = (ord("0"), ord("9"))
_CODES_OF_HEX: Final = (ord("a"), ord("f"))


@dataclass(frozen=True, eq=False, repr=False)
class IdentifierKind:
    """Identifiers of one length, with letters or digits alone."""

    length: int
    alphabet: int
    beyond_hex: bool  # each has a letter outside hexadecimal
    hashes: Words  # ascending


@dataclass(frozen=True, eq=False, repr=False)
class IdentifierKinds:
    """Identifiers long enough to differ from chance. ids: as given."""

    ids: Sequence[str]
    every: tuple[IdentifierKind, ...]

    def with_hashes(self, hashes: Words) -> frozenset[str]:
        """Those with one of these hashes of their letters and digits."""
        return frozenset(
            words.text(number)
            for part in split_identifiers(self.ids)
            for words, _ in part.words()
            for number in np.flatnonzero(is_among(words.hashes(), hashes)).tolist()
        )


@dataclass(eq=False, repr=False)
class _Search:
    kind: IdentifierKind
    windows: int = 0
    owners_of: dict[str, set[int]] = field(default_factory=dict)  # texts that hold each possible identifier

    def is_beyond_chance(self, level: float, n: int) -> bool:
        """By Poisson."""
        kind = self.kind
        expected = self.windows * len(kind.hashes) / float(kind.alphabet) ** kind.length
        return n > 0 and is_beyond_chance(n, expected, level)


@dataclass(frozen=True, eq=False, repr=False)
class _Words:
    """regular: they are hexadecimal pseudonyms."""

    words: TextSpans
    owners: Integers
    regular: bool = False


def count_glued(kinds: IdentifierKinds, texts: Sequence[str]) -> list[int]:
    """Count the identifiers inside longer words of each text."""
    counts = find_glued(kinds, texts)
    return [counts.get(position, 0) for position in range(len(texts))]


def find_glued(kinds: IdentifierKinds, texts: Sequence[str]) -> Mapping[int, int]:
    """The counts of texts that have any, by place."""
    searches = [_Search(kind) for kind in kinds.every]
    for words, subset in _words_in_parts(texts, searches):
        together = words.words.together.text
        for search, at in _find_candidates(words, subset):
            owner = words.owners[np.searchsorted(words.words.starts, at, side="right") - 1]
            for first, place in zip(at.tolist(), owner.tolist(), strict=True):
                piece = together[first : first + search.kind.length]
                search.owners_of.setdefault(piece, set()).add(place)
    level = FALSE_ALARMS / max(1, len(searches))
    likely = [search for search in searches if search.is_beyond_chance(level, len(search.owners_of))]
    pieces = TextSpans.of([piece for search in likely for piece in search.owners_of])
    real = kinds.with_hashes(distinct(pieces.hashes())) if likely else frozenset()
    counts: Counter[int] = Counter()
    for search in likely:
        owners = [owners for piece, owners in search.owners_of.items() if piece in real]
        if search.is_beyond_chance(level, len(owners)):
            counts.update(chain.from_iterable(owners))
    return counts


def identifier_kinds(ids: Sequence[str]) -> IdentifierKinds:
    """The identifiers long enough to differ from chance."""
    groups: dict[tuple[int, int, bool], list[Words]] = {}
    for part in split_identifiers(ids):
        for words, _ in part.words():
            classes = _character_classes(words.together)
            letters, digits, hexes = (_count_in_spans(flags, words.starts, words.ends) for flags in classes)
            length = words.lengths
            number = (letters == 0) & (length >= SHORTEST_NUMBER)
            mixed = (digits > 0) & (digits < length) & ~number & (length >= SHORTEST_MIXED)
            hashes = words.hashes()
            for alphabet, beyond_hex, members in (
                (_DIGITS, False, number),
                (_LETTERS_AND_DIGITS, False, mixed & (hexes == length)),
                (_LETTERS_AND_DIGITS, True, mixed & (hexes < length)),
            ):
                for size in np.unique(length[members & (length <= _LONGEST)]).tolist():
                    some = distinct(hashes[members & (length == size)])
                    groups.setdefault((size, alphabet, beyond_hex), []).append(some)
    return IdentifierKinds(
        ids, tuple(IdentifierKind(*key, distinct(np.concatenate(groups[key]))) for key in sorted(groups))
    )


def _character_classes(text: Characters) -> tuple[Flags, Flags, Flags]:
    codes = text.codes
    digits = (codes >= _CODES_OF_DIGITS[0]) & (codes <= _CODES_OF_DIGITS[1])
    hexes = digits | ((codes >= _CODES_OF_HEX[0]) & (codes <= _CODES_OF_HEX[1]))
    letters = ~digits
    for place in np.flatnonzero(codes >= 128).tolist():
        letters[place] = text.text[place].isalpha()
    return letters, digits, hexes


def _count_in_spans(flags: Flags, starts: Integers, ends: Integers) -> Integers:
    before = np.concatenate([[0], np.cumsum(flags)])
    return np.asarray(before[ends] - before[starts])


def _words_in_parts(
    texts: Sequence[str], searches: Sequence[_Search]
) -> Iterator[tuple[_Words, list[_Search]]]:
    for alphabet, pattern in ((_LETTERS_AND_DIGITS, _WORD), (_DIGITS, _NUMBER)):
        subset = [search for search in searches if search.kind.alphabet == alphabet]
        if not subset:
            continue
        shortest = min(search.kind.length for search in subset)
        by_place = texts.irregular.items() if isinstance(texts, Pseudonyms) else enumerate(texts)
        for words in _words_of(by_place, pattern, shortest):
            yield words, subset
        if isinstance(texts, Pseudonyms) and any(_may_be_in_pseudonyms(search.kind) for search in subset):
            for words in _regular_pseudonyms(texts):
                yield words, [search for search in subset if _may_be_in_pseudonyms(search.kind)]


def _may_be_in_pseudonyms(kind: IdentifierKind) -> bool:
    return kind.length <= PSEUDONYM_DIGITS and not kind.beyond_hex


def _regular_pseudonyms(names: Pseudonyms) -> Iterator[_Words]:
    size = max(1, _CHARACTERS_AT_ONCE // PSEUDONYM_DIGITS)
    for first in range(0, len(names), size):
        owners = np.arange(first, min(first + size, len(names)))
        if names.irregular:
            owners = owners[~np.isin(owners, list(names.irregular))]
        text = names.numbers[owners].astype(">u8").tobytes().hex()
        starts = np.arange(len(owners)) * PSEUDONYM_DIGITS
        words = TextSpans(Characters(text), starts, starts + PSEUDONYM_DIGITS)
        yield _Words(words, owners, regular=True)


def _words_of(texts: Iterable[tuple[int, str]], pattern: re.Pattern[str], shortest: int) -> Iterator[_Words]:
    words: list[str] = []
    owners: list[int] = []
    size = 0
    for place, text in texts:
        for match in pattern.findall(text.casefold()):
            if len(match) < shortest:
                continue
            word = match if match.isalnum() else BETWEEN.sub("", match)
            if len(word) >= shortest:
                words.append(word)
                owners.append(place)
                size += len(word)
        if size > _CHARACTERS_AT_ONCE:
            yield _Words(TextSpans.of(words), np.array(owners))
            words, owners, size = [], [], 0
    if words:
        yield _Words(TextSpans.of(words), np.array(owners))


def _find_candidates(words: _Words, searches: Sequence[_Search]) -> Iterator[tuple[_Search, Integers]]:
    """Where pieces with the hashes of identifiers begin."""
    text = words.words.together
    ends = np.repeat(words.words.ends, words.words.lengths)
    _, is_digit, is_hex = _character_classes(text)
    digits, hexes = (np.concatenate([[0], np.cumsum(flags)]) for flags in (is_digit, is_hex))
    for search in searches:
        kind = search.kind
        first = np.arange(max(0, len(text.codes) - kind.length + 1))
        stops = first + kind.length
        whole = stops <= ends[: len(first)]
        n_digits = digits[stops] - digits[first]
        if kind.alphabet == _LETTERS_AND_DIGITS:
            whole &= (n_digits > 0) & (n_digits < kind.length)
        elif words.regular:
            whole &= n_digits == kind.length
        if kind.beyond_hex:
            whole &= hexes[stops] - hexes[first] < kind.length
        first = first[whole]
        search.windows += len(first)
        hashes = text.hashes(first, first + kind.length)
        order = np.argsort(hashes)
        yield search, np.sort(first[order[is_among(hashes[order], kind.hashes)]])
