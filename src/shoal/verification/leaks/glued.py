"""Identifiers inside longer words: with something before or behind, or without what stands between.

``xcaller-0007y`` and ``caller0007`` tell who it is as ``caller-0007`` does. Such pieces also stand in long
words by chance, in digests most of all. So identifiers and words are taken without what is no letter and no
digit, and every piece of a word that is as long as an identifier is compared with it. What is found counts
when chance explains so many in fewer than one of a million releases.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import lgamma, log
from typing import Final

import numpy as np
import numpy.typing as npt

FALSE_ALARMS: Final = 1e-6  # the share of honest releases, at most, that pieces found by chance refuse
SHORTEST_MIXED: Final = 6  # letters and digits together
SHORTEST_NUMBER: Final = 9  # digits alone
_LETTERS_AND_DIGITS: Final = (
    16  # what stands at each place of a word at the least: digests have 16 characters
)
_DIGITS: Final = 10
_LONGEST: Final = 64
_CHARACTERS_AT_ONCE: Final = 1 << 22
_WORD: Final = re.compile(r"[^\W_]+(?:[-_.:@+/][^\W_]+)*")
_NUMBER: Final = re.compile(r"(?<![\d.#])\d+(?![\d]|\.\d)")
_HEX: Final = re.compile(r"[0-9a-f]+")
_BETWEEN: Final = re.compile(r"[\W_]+")
Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False, repr=False)
class Kind:
    """Identifiers of one length, of letters and digits or of digits alone.

    beyond_hex: whether each has a letter that no hexadecimal number has, so that digests are not compared.
    """

    length: int
    alphabet: int
    beyond_hex: bool
    names: frozenset[str]
    hashes: Hashes


@dataclass(eq=False, repr=False)
class _Search:
    """What was found of one kind.

    windows: pieces of words that were compared; found: the identifiers, by the number of their text.
    """

    kind: Kind
    windows: int = 0
    found: dict[int, set[str]] = field(default_factory=dict)

    def is_beyond_chance(self, level: float) -> bool:
        """Whether so many different ones come by chance less often than the level (Poisson)."""
        n = len(set().union(*self.found.values())) if self.found else 0
        kind = self.kind
        expected = self.windows * len(kind.names) / float(kind.alphabet) ** kind.length
        return n > 0 and n * log(expected) - lgamma(n + 1) < log(level)


def glued(kinds: Iterable[Kind], texts: Iterable[str]) -> list[int]:
    """How many identifiers stand inside longer words of each text, beyond what chance explains."""
    searches = [_Search(kind) for kind in kinds]
    every = list(texts)
    for alphabet, pattern in ((_LETTERS_AND_DIGITS, _WORD), (_DIGITS, _NUMBER)):
        own = [search for search in searches if search.kind.alphabet == alphabet]
        if own:
            for words, owners in _in_parts(every, pattern, min(search.kind.length for search in own)):
                _compare(words, owners, own)
    counts = [0] * len(every)
    for search in searches:
        if search.is_beyond_chance(FALSE_ALARMS / len(searches)):
            for place, names in search.found.items():
                counts[place] += len(names)
    return counts


def kinds_of(ids: Iterable[str]) -> tuple[Kind, ...]:
    """The identifiers that can be told from chance, by length and characters."""
    groups: dict[tuple[int, int, bool], set[str]] = {}
    for uid in ids:
        name = _BETWEEN.sub("", uid.casefold())
        letters = sum(map(str.isalpha, name))
        if not letters and SHORTEST_NUMBER <= len(name) <= _LONGEST:
            groups.setdefault((len(name), _DIGITS, False), set()).add(name)
        elif letters < len(name) and SHORTEST_MIXED <= len(name) <= _LONGEST:
            beyond_hex = _HEX.fullmatch(name) is None
            groups.setdefault((len(name), _LETTERS_AND_DIGITS, beyond_hex), set()).add(name)
    return tuple(
        Kind(
            length,
            alphabet,
            beyond_hex,
            frozenset(names),
            np.unique(_hashed("".join(names), length)[::length]),
        )
        for (length, alphabet, beyond_hex), names in sorted(groups.items())
    )


def _in_parts(
    texts: Sequence[str], pattern: re.Pattern[str], shortest: int
) -> Iterable[tuple[list[str], list[int]]]:
    """(words without what stands between their parts, the text of each), in parts of some megabytes."""
    words: list[str] = []
    owners: list[int] = []
    size = 0
    for place, text in enumerate(texts):
        for found in pattern.findall(text.casefold()):
            if len(found) < shortest:
                continue
            word = found if found.isalnum() else _BETWEEN.sub("", found)
            if len(word) >= shortest:
                words.append(word)
                owners.append(place)
                size += len(word)
        if size > _CHARACTERS_AT_ONCE:
            yield words, owners
            words, owners, size = [], [], 0
    if words:
        yield words, owners


def _compare(words: Sequence[str], owners: Sequence[int], searches: Sequence[_Search]) -> None:
    """Look for the identifiers of some kinds in words, and count what was compared."""
    together = "".join(words)
    starts = np.cumsum([0, *(len(word) for word in words)])
    ends = np.repeat(starts[1:], np.diff(starts))
    codes = np.frombuffer(together.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    is_digit = (codes >= ord("0")) & (codes <= ord("9"))
    digits = np.concatenate([[0], np.cumsum(is_digit)])
    hexes = np.concatenate([[0], np.cumsum(is_digit | ((codes >= ord("a")) & (codes <= ord("f"))))])
    for search in searches:
        kind = search.kind
        if len(together) < kind.length:
            continue
        first = np.arange(len(together) - kind.length + 1)
        n_digits = digits[first + kind.length] - digits[first]
        whole = first + kind.length <= ends[: len(first)]
        if kind.alphabet == _LETTERS_AND_DIGITS:
            whole &= (n_digits > 0) & (n_digits < kind.length)
        if kind.beyond_hex:
            whole &= hexes[first + kind.length] - hexes[first] < kind.length
        search.windows += int(whole.sum())
        hashes = _hashed(together, kind.length)
        for at in np.flatnonzero(whole & np.isin(hashes, kind.hashes)).tolist():
            piece = together[at : at + kind.length]
            if piece in kind.names:
                owner = owners[int(np.searchsorted(starts, at, side="right")) - 1]
                search.found.setdefault(owner, set()).add(piece)


def _hashed(text: str, length: int) -> Hashes:
    """uint64 [characters - length + 1]: a number for each piece of this length, the same for equal ones."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)
    factor = 0x9E3779B97F4A7C15
    found, piece, size, done = None, codes + np.uint64(1), 1, 0
    while True:
        if length & size:  # this piece behind what was put together so far
            n = len(codes) - done - size + 1
            behind = piece[done : done + n]
            shift = np.uint64(pow(factor, size, 1 << 64))
            found = behind if found is None else found[:n] * shift + behind
            done += size
        if done == length:
            return np.asarray(found, dtype=np.uint64)
        shift = np.uint64(pow(factor, size, 1 << 64))
        piece = piece[:-size] * shift + piece[size:]
        size *= 2
