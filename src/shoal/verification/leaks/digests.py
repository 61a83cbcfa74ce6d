"""Find plain hashes of identifiers, whole, cut or re-encoded.

Who can list identifiers can list their hashes. So 12 consecutive characters shared by a hash and a name
count, and names that are the first 8 digits of a hash or more, unless chance explains them
(``_longer_than_chance``, ``PrefixSearch.significant``).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, gcd, lgamma, log
from threading import Lock
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.model.names import PSEUDONYM_DIGITS, Pseudonyms
from shoal.runtime.arrays import Flags, Integers, distinct
from shoal.units import counted, show_share
from shoal.verification.leaks.forms import Words, is_among
from shoal.verification.leaks.loops import PIECE, fill_filter, mark_runs, rows_that_hold
from shoal.verification.leaks.plain_hashes import (
    BYTES_OF_ALL,
    N_PLAIN,
    SHORTEST_PREFIX,
    SIZES,
    STARTS,
    Codes,
    digest_rows,
)

SHORTEST_RUN: Final = 12  # characters shared by a name and a hash, anywhere
SHORTEST_IN_TEXT: Final = 16  # characters of a word of running text
FALSE_ALARMS: Final = 1e-6  # largest share of honest releases refused by chance
# the same for names that are the first digits of a hash; with 1e-6, a lone one would pass among 20 people
FALSE_ALARMS_OF_PREFIXES: Final = 1e-3
_MOST_DIGITS: Final = 64  # more make a chance no smaller
_LONGEST_IN_TEXT: Final = 160
IDS_AT_ONCE: Final = 1024
_KEPT_BYTES: Final = 1 << 26  # of hashes to keep; more are made again for each search
_FILTERED: Final = 32  # filter bits for each run
_NO_CODE: Final = 255
_NAMES_AT_ONCE: Final = 1 << 18
_TWELVE_DIGITS: Final = np.uint64((1 << 48) - 1)
_WHOLE: Final = 5  # bytes in every run, wherever it begins in a byte
_MOST_PIECES: Final = 1 << 22  # more would need too much memory
_HEX: Final = re.compile(r"[0-9a-f]+")
_IN_TEXT: Final = re.compile(
    rf"(?<![\w+/=-])[A-Za-z0-9+/_-]{{{SHORTEST_IN_TEXT},{_LONGEST_IN_TEXT}}}(?![\w+/-])"
)
_HEX_IN_TEXT: Final = re.compile(rf"(?<![^\W_])[0-9a-f]{{{SHORTEST_IN_TEXT},128}}(?![^\W_])")
_IN_FULL: Final = 4  # thousands of identifiers, evenly chosen, whose rarest hashes are made, too
FirstDigits = npt.NDArray[np.uint32]


@dataclass(frozen=True, kw_only=True)
class Spelling:
    """A way to write bytes, a fixed number of bits a character."""

    bits: int
    alphabet: str
    folded: bool  # case does not matter
    dropped: str = ""  # characters that may stand between
    equivalents: tuple[str, str] = ("", "")  # others that stand for one of the alphabet
    starts: int = 1  # leading bytes of a hash that may be cut off first, which changes all characters

    def runs(self, name: str) -> Iterator[str]:
        """Pieces of a name that this spelling can have written."""
        if _HEX.fullmatch(name):  # like pseudonyms: no folding, no other spelling
            if self is HEX and len(name) >= SHORTEST_RUN:
                yield name
            return
        text = (name.lower() if self.folded else name).translate(self._translation)
        for run in self._run.findall(text):
            if self is HEX or not _HEX.fullmatch(run.lower()):
                yield run

    @cached_property
    def _translation(self) -> Mapping[int, int | None]:
        return str.maketrans(*self.equivalents, self.dropped)

    @cached_property
    def _run(self) -> re.Pattern[str]:
        return re.compile(f"[{re.escape(self.alphabet)}]{{{SHORTEST_RUN},}}")

    def codes(self, runs: Sequence[str]) -> Codes:
        """uint8 [n, length]: values of runs of equal length."""
        values = np.full(256, _NO_CODE, dtype=np.uint8)
        values[np.frombuffer(self.alphabet.encode(), dtype=np.uint8)] = np.arange(len(self.alphabet))
        return values[np.frombuffer("".join(runs).encode(), dtype=np.uint8)].reshape(len(runs), -1)


HEX: Final = Spelling(bits=4, alphabet="0123456789abcdef", folded=True, dropped="-: _.")
SPELLINGS: Final = (
    HEX,
    Spelling(bits=5, alphabet="abcdefghijklmnopqrstuvwxyz234567", folded=True, dropped="-: ", starts=5),
    Spelling(
        bits=6,
        alphabet="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        folded=False,
        equivalents=("-_", "+/"),
        starts=3,
    ),
)


def hash_like_words(text: str) -> Iterator[str]:
    """Words long enough to be a hash."""
    yield from _HEX_IN_TEXT.findall(text.lower())
    yield from _IN_TEXT.findall(text)


@dataclass(frozen=True, kw_only=True)
class HashSearch:
    """Names that hold a piece of a hash; n_by_chance: further ones that chance explains."""

    names: frozenset[str]
    n_by_chance: int = 0
    chance: float = 1.0  # the probability of that many or more with random names

    def notes(self) -> Iterator[str]:
        """Names that share a piece by chance."""
        if self.n_by_chance:
            yield (
                f"{counted(self.n_by_chance, 'pseudonym has', 'pseudonyms have')} {SHORTEST_RUN} "
                "characters or more in common with a "
                f"plain hash of an identifier; among so many people, {show_share(self.chance)} of all "
                "releases with random pseudonyms have as many by chance, so it is no finding"
            )


class Digests:
    """All plain hashes of identifiers, for many searches; few are kept."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._ids = ids
        self._kept: list[Codes] = []
        n_in_full = min(len(ids), _IN_FULL * IDS_AT_ONCE)
        n_bytes = (len(ids) - n_in_full) * BYTES_OF_ALL + n_in_full * STARTS[-1]
        self._keeps = n_bytes <= _KEPT_BYTES
        self._lock = Lock()

    def __iter__(self) -> Iterator[Codes]:
        """uint8 [n, bytes] for each thousand identifiers, as ``digest_rows``."""
        for part, start in enumerate(range(0, len(self._ids), IDS_AT_ONCE)):
            some = self._ids[start : start + IDS_AT_ONCE]
            in_full = made_in_full(start, len(self._ids))
            if not self._keeps:
                yield digest_rows(some, in_full=in_full)
                continue
            with self._lock:  # made once even if two searches start together
                if part == len(self._kept):
                    self._kept.append(digest_rows(some, in_full=in_full))
            yield self._kept[part]

    @property
    def n_for_prefixes(self) -> int:
        """Number of hashes of which 8 digits count."""
        starts = range(0, len(self._ids), IDS_AT_ONCE)
        in_full = sum(made_in_full(start, len(self._ids)) for start in starts) * IDS_AT_ONCE
        return len(self._ids) * N_PLAIN + min(in_full, len(self._ids)) * (len(SIZES) - N_PLAIN)

    def compare(self, prefixes: "PrefixSearch", searches: Sequence["RunSearch"]) -> None:
        """Compare all hashes with prefixes and runs."""
        for digests in self:
            prefixes.compare(digests)
            for search in searches:
                search.compare(digests)


def find_hashed_names(ids: Sequence[str] | Digests, names: Iterable[str]) -> frozenset[str]:
    """Names that are, or hold a piece of, a plain hash, beyond chance."""
    return search_hashes(ids, names).names


def search_hashes(ids: Sequence[str] | Digests, names: Iterable[str]) -> HashSearch:
    """Search names for 8 first hexadecimal digits of a hash, or any 12 consecutive characters."""
    different_names = Pseudonyms.of(names).distinct()
    prefixes = PrefixSearch(different_names)
    searches = [
        search
        for search in (RunSearch(spelling, different_names) for spelling in SPELLINGS)
        if len(search.index.windows)
    ]
    if not (len(prefixes.first) or searches):
        return HashSearch(names=frozenset())
    digests = ids if isinstance(ids, Digests) else Digests(ids)
    digests.compare(prefixes, searches)
    hits = frozenset(
        [different_names[place] for search in searches for place in search.significant_places()]
    ) | prefixes.significant(digests.n_for_prefixes)
    rest = {
        place
        for search in searches
        for place in search.places_with_runs()
        if different_names[place] not in hits
    }
    expected = sum(search.expected for search in searches)
    return HashSearch(names=hits, n_by_chance=len(rest), chance=chance_of_at_least(len(rest), expected))


def made_in_full(start: int, n_ids: int) -> bool:
    """Whether the rarest hashes of the identifiers from this one on are made."""
    n_blocks = -(-n_ids // IDS_AT_ONCE)
    return start // IDS_AT_ONCE % max(1, -(-n_blocks // _IN_FULL)) == 0


class PrefixSearch:
    """Search for names that are the first digits of a hash."""

    def __init__(self, names: Iterable[str]) -> None:
        pseudonyms = Pseudonyms.of(names)
        self.matches: dict[str, int] = {}  # digits of each
        self._numbers = np.sort(pseudonyms.regular)
        self._by_prefix: dict[bytes, list[tuple[str, str]]] = {}
        for name in pseudonyms.irregular.values():
            digits = name.lower().replace("-", "").replace(":", "").removeprefix("0x")
            if len(digits) >= SHORTEST_PREFIX and _HEX.fullmatch(digits):
                first = bytes.fromhex(digits[:SHORTEST_PREFIX])
                self._by_prefix.setdefault(first, []).append((digits, name))
        self._lengths = Counter(len(digits) for named in self._by_prefix.values() for digits, _ in named)
        self._lengths[PSEUDONYM_DIGITS] += len(self._numbers)
        regular = (self._numbers >> np.uint64(32)).astype(">u4").view(np.uint32)
        strange = np.frombuffer(b"".join(self._by_prefix), dtype=np.uint32)
        self.first: FirstDigits = np.sort(np.concatenate([regular, strange]))

    def compare(self, digests: Codes) -> None:
        """Mark the names that digests [n, bytes] begin with."""
        self.mark(digests_beginning(self.first, digests))

    def mark(self, digests: Iterable[tuple[bytes, int]]) -> None:
        """Mark the names that digests begin with, by so many digits or more."""
        for digest, least in digests:
            for digits, name in self._by_prefix.get(digest[: SHORTEST_PREFIX // 2], ()):
                if len(digits) >= least and digest.hex().startswith(digits):
                    self.matches[name] = len(digits)
            number = int.from_bytes(digest[:8], "big")
            place = int(np.searchsorted(self._numbers, np.uint64(number)))
            if place < len(self._numbers) and int(self._numbers[place]) == number:
                self.matches[digest[:8].hex()] = PSEUDONYM_DIGITS

    def significant(self, n_hashes: int) -> frozenset[str]:
        """The matches that chance does not explain, among so many hashes."""
        for least in sorted(set(self.matches.values())):
            matches = frozenset(name for name, digits in self.matches.items() if digits >= least)
            lengths = [
                (min(digits, _MOST_DIGITS), n) for digits, n in self._lengths.items() if digits >= least
            ]
            expected = sum(n_hashes * n / 16.0**digits for digits, n in lengths)
            if is_beyond_chance(len(matches), expected, FALSE_ALARMS_OF_PREFIXES):
                return matches
        return frozenset()


def digests_beginning(first: FirstDigits, digests: Codes) -> Iterator[tuple[bytes, int]]:
    """The digests [n, bytes] whose first 8 digits are in ``first`` (ascending); how many must agree."""
    if not len(first):
        return
    in_full = digests.shape[1] == STARTS[-1]
    for number, (start, size) in enumerate(zip(STARTS, SIZES, strict=False)):
        if start == digests.shape[1]:
            return
        # of very many rarer hashes, 8 digits agree too often by chance
        least = SHORTEST_PREFIX if in_full or number < N_PLAIN else SHORTEST_RUN
        beginnings = (
            np.ascontiguousarray(digests[:, start : start + SHORTEST_PREFIX // 2]).view(np.uint32).ravel()
        )
        for row in np.flatnonzero(first[np.searchsorted(first[:-1], beginnings)] == beginnings).tolist():
            yield digests[row, start : start + size].tobytes(), least


class RunIndex(NamedTuple):
    """Runs to search for."""

    windows: Words  # uint64 [w], ascending
    filter: Codes  # filter, pieces_filter: of both
    pieces: Words  # the first and the last of the whole bytes of each run: either begin at an even place
    pieces_filter: Codes

    @classmethod
    def of(cls, windows: Words, bits: int) -> "RunIndex":
        """Of these runs (ascending) of characters of ``bits`` bits."""
        width, step = min(64, bits * SHORTEST_RUN), gcd(bits, 8)
        pieces = np.empty(0, dtype=np.uint64)
        if len(windows) * (8 // step) <= _MOST_PIECES:
            mask = np.uint64((1 << 8 * PIECE) - 1)
            ends = (width - begins - 8 * n for begins in range(0, 8, step) for n in (PIECE, _WHOLE))
            pieces = distinct(np.concatenate([windows >> np.uint64(end) & mask for end in ends]))
        return cls(windows, _filter_of(windows), pieces, _filter_of(pieces))

    def candidates_in(self, digests: Codes) -> Codes:
        """The digests [n, bytes] that may hold a run: all others lack the pieces of each."""
        if not len(self.pieces):
            return digests
        return digests[rows_that_hold(digests, self.pieces, self.pieces_filter)]


def _filter_of(runs: Words) -> Codes:
    bits = max(10, min(32, (_FILTERED * len(runs)).bit_length()))
    filled = np.zeros(1 << (bits - 3), dtype=np.uint8)
    fill_filter(runs, filled)
    return filled


class RunSearch:
    """Search for all 12-character runs of names in one spelling."""

    def __init__(self, spelling: Spelling, names: Iterable[str]) -> None:
        self.spelling = spelling
        self._known = Pseudonyms.of(names)
        every = np.empty(sum(windows.size for windows, _ in self._cut()), dtype=np.uint64)
        at = 0
        for windows, _ in self._cut():
            every[at : at + windows.size] = windows.ravel()
            at += windows.size
        every.sort()
        self.index = RunIndex.of(every, spelling.bits)
        self.hits = np.zeros(len(every), dtype=np.bool_)
        self.compared = 0
        self._n_windows = int(np.count_nonzero(every[1:] != every[:-1])) + min(1, len(every))

    def _cut(self) -> Iterator[tuple[Words, Integers]]:
        by_length: dict[int, tuple[list[str], list[int]]] = {}
        for place, name in self._known.irregular.items():
            for run in self.spelling.runs(name):
                runs, owners = by_length.setdefault(len(run), ([], []))
                runs.append(run)
                owners.append(place)
        for runs, owners in by_length.values():
            yield _windows(self.spelling.codes(runs), self.spelling.bits), np.array(owners, dtype=np.int64)
        numbers = self._known.numbers if self.spelling is HEX else self._known.numbers[:0]
        shifts = np.arange(16 - SHORTEST_RUN, -1, -1, dtype=np.uint64) * np.uint64(HEX.bits)
        for first in range(0, len(numbers) + 1, _NAMES_AT_ONCE):
            some = numbers[first : first + _NAMES_AT_ONCE]
            owner = np.arange(first, first + len(some))
            if self._known.irregular:
                is_regular = ~np.isin(owner, list(self._known.irregular))
                some, owner = some[is_regular], owner[is_regular]
            yield (some[:, None] >> shifts) & _TWELVE_DIGITS, owner

    def compare(self, digests: Codes) -> None:
        """Mark the runs in these digests [n, bytes]."""
        self.compared += mark_spelled_runs(self.spelling, digests, self.index, self.hits)

    @property
    def expected(self) -> float:
        """Expected number of runs shared by chance."""
        possible = 2.0 ** min(64, self.spelling.bits * SHORTEST_RUN)
        return self._n_windows * self.compared / possible

    def _seen(self) -> tuple[Integers, Integers]:
        seen = self.index.windows[self.hits]
        owners, places = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for windows, owner in self._cut() if len(seen) else ():
            row, at = np.nonzero(is_among(windows, seen))
            owners.append(owner[row])
            places.append(at)
        owner, place = np.concatenate(owners), np.concatenate(places)
        order = np.lexsort((place, owner))
        return owner[order], place[order]

    def places_with_runs(self) -> list[int]:
        """Places of names that share a run."""
        places: list[int] = np.unique(self._seen()[0]).tolist()
        return places

    def significant_places(self) -> Integers:
        """Places of names whose runs chance does not explain."""
        owner, at = self._seen()
        if not len(owner):
            return owner
        breaks = np.flatnonzero((np.diff(owner) != 0) | (np.diff(at) != 1)) + 1
        starts = np.r_[0, breaks]
        length = np.diff(np.r_[starts, len(owner)]) + SHORTEST_RUN - 1
        least = _longer_than_chance(length, self.expected, self.spelling.bits)
        return np.unique(owner[starts][length >= least])


def mark_spelled_runs(spelling: Spelling, digests: Codes, index: RunIndex, hits: Flags) -> int:
    """Mark in hits the runs of the index that stand in digests [n, bytes]; return how many were compared."""
    some = index.candidates_in(digests)
    for start in range(spelling.starts):
        mark_runs(some, start, spelling.bits, SHORTEST_RUN, index.windows, index.filter, hits)
    in_one = (count_runs(digests.shape[1] - start, spelling.bits) for start in range(spelling.starts))
    return len(digests) * sum(in_one)


def count_runs(n_bytes: int, bits: int) -> int:
    """Number of runs in ``n_bytes`` bytes."""
    return max(0, -(-8 * n_bytes // bits) - SHORTEST_RUN + 1)


def chance_of_at_least(n: int, expected: float) -> float:
    """The chance of n or more (Poisson)."""
    fewer, term = 0.0, exp(-expected)
    for number in range(n):
        fewer += term
        term *= expected / (number + 1)
    return max(0.0, 1.0 - fewer)


def is_beyond_chance(n: int, expected: float, largest: float) -> bool:
    """Whether n or more occur by chance in less than ``largest`` of all releases (Poisson)."""
    return n * log(expected) - lgamma(n + 1) < log(largest)


def _longer_than_chance(lengths: Integers, expected: float, bits: int) -> int:
    for least in range(SHORTEST_RUN, int(lengths.max()) + 1):
        n = int((lengths >= least).sum())
        by_chance = expected / 2.0 ** (bits * (least - SHORTEST_RUN))
        if is_beyond_chance(n, by_chance, FALSE_ALARMS):
            return least
    return int(lengths.max()) + 1


def _windows(codes: Codes, bits: int) -> Words:
    wide = codes.shape[1] - SHORTEST_RUN + 1
    if wide < 1:
        return np.empty((len(codes), 0), dtype=np.uint64)
    windows = codes.astype(np.uint64)
    quarter = windows
    for length in (1, 2, 4):  # double the length of the runs so far
        windows = (windows[:, :-length] << np.uint64(length * bits)) | windows[:, length:]
        quarter = windows if length == 2 else quarter
    return (windows[:, :wide] << np.uint64(4 * bits)) | quarter[:, 8 : 8 + wide]
