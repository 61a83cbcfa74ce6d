"""Plain hashes of identifiers, whole, cut or wrapped, in names and texts.

A pseudonym that is a hash of an identifier is no pseudonym: whoever can list the identifiers can list the
hashes. So any twelve characters in a row that a hash and a name have in common count, wherever they stand in
either. Twelve characters are also found by chance where people are many; ``_longer_than_chance`` says how
long a run must then be, or how many names must have one.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import exp, gcd, lgamma, log
from threading import Lock
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.model.names import Pseudonyms
from shoal.runtime.arrays import Flags, Integers
from shoal.units import counted, show_share
from shoal.verification.leaks.forms import among
from shoal.verification.leaks.loops import fill_filter, mark_runs, rows_that_hold

SHORTEST_PREFIX: Final = 8  # hexadecimal digits of a hash, as the whole of a name
SHORTEST_RUN: Final = 12  # characters that a name and a hash have in common, anywhere
SHORTEST_IN_TEXT: Final = 16  # characters of what is looked at in running text
FALSE_ALARMS: Final = 1e-6  # the share of honest releases, at most, that runs found by chance refuse
_LONGEST_IN_TEXT: Final = 160
IDS_AT_ONCE: Final = 1024
_KEPT_BYTES: Final = 1 << 26  # of all hashes of some identifiers; more are made anew for each search
_FILTERED: Final = 32  # bits of a filter for each run that it holds
_APART: Final = 15  # bytes after which all spellings begin anew
# what stands between two hashes side by side: nothing that a name holds but by chance, as a hash
_FILLING: Final = hashlib.sha256(b"between two hashes").digest()
_LONGEST_ID: Final = 60  # bytes of an identifier that are looked for spelled out
_NO_CODE: Final = 255
_NAMES_AT_ONCE: Final = 1 << 18
_TWELVE_DIGITS: Final = np.uint64((1 << 48) - 1)
_PIECE: Final = 5  # whole bytes that stand in every run, wherever it begins in a byte
_MOST_PIECES: Final = 1 << 20  # with more of them, looking for them first would take too much memory
_HEX: Final = re.compile(r"[0-9a-f]+")
_IN_TEXT: Final = re.compile(
    rf"(?<![\w+/=-])[A-Za-z0-9+/_-]{{{SHORTEST_IN_TEXT},{_LONGEST_IN_TEXT}}}(?![\w+/-])"
)
_HEX_IN_TEXT: Final = re.compile(rf"(?<![^\W_])[0-9a-f]{{{SHORTEST_IN_TEXT},128}}(?![^\W_])")
_HASHES: Final[tuple[Callable[[bytes], Any], ...]] = (
    partial(hashlib.md5, usedforsecurity=False),
    partial(hashlib.sha1, usedforsecurity=False),
    hashlib.sha224,
    hashlib.sha256,
    hashlib.sha384,
    hashlib.sha512,
    hashlib.sha3_224,
    hashlib.sha3_256,
    hashlib.sha3_384,
    hashlib.sha3_512,
    hashlib.blake2b,
    hashlib.blake2s,
    *(partial(hashlib.blake2b, digest_size=size) for size in (8, 16, 20, 32)),
    *(partial(hashlib.blake2s, digest_size=size) for size in (8, 16)),
)
# the identifier itself and each hash: how many bytes, and where they begin
_SIZES: Final = (_LONGEST_ID, *(make(b"").digest_size for make in _HASHES))
_STARTS: Final = tuple(
    sum(-(-size // _APART) for size in _SIZES[:n]) * _APART for n in range(len(_SIZES) + 1)
)
Codes = npt.NDArray[np.uint8]
FirstDigits = npt.NDArray[np.uint32]
Windows = npt.NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class Spelling:
    """A way to write bytes as characters of so many bits each.

    alphabet: the characters in the order of their values. folded: whether case does not matter. dropped:
    characters that may stand between. alike: others that stand for one of the alphabet. starts: the bytes of
    a hash that may be cut off before it is written, which give other characters.
    """

    bits: int
    alphabet: str
    folded: bool
    dropped: str = ""
    alike: tuple[str, str] = ("", "")
    starts: int = 1

    def runs(self, name: str) -> Iterator[str]:
        """Pieces of a name that this spelling can have written, long enough to tell."""
        if _HEX.fullmatch(name):  # as pseudonyms are: nothing in it to fold, and no other spelling's
            if self is HEX and len(name) >= SHORTEST_RUN:
                yield name
            return
        text = (name.lower() if self.folded else name).translate(self._translation)
        for run in self._run.findall(text):
            if self is HEX or not _HEX.fullmatch(run.lower()):
                yield run

    @cached_property
    def _translation(self) -> Mapping[int, int | None]:
        return str.maketrans(*self.alike, self.dropped)

    @cached_property
    def _run(self) -> re.Pattern[str]:
        return re.compile(f"[{re.escape(self.alphabet)}]{{{SHORTEST_RUN},}}")

    def codes(self, runs: Sequence[str]) -> Codes:
        """uint8 [n, length]: the values of the characters of runs that have one length."""
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
        alike=("-_", "+/"),
        starts=3,
    ),
)


def hash_like(text: str) -> Iterator[str]:
    """Runs of characters in a text that are long enough to be a hash and no chance."""
    for match in _HEX_IN_TEXT.finditer(text.lower()):
        yield match[0]
    for match in _IN_TEXT.finditer(text):
        yield match[0]


@dataclass(frozen=True, kw_only=True)
class Hashes:
    """What a search for hashes found.

    names: those that are, or hold a piece of, one. n_by_chance: how many more have a piece in common with
    one, as chance explains; chance: of a release whose names are random, to have as many or more.
    """

    names: frozenset[str]
    n_by_chance: int = 0
    chance: float = 1.0

    def notes(self) -> Iterator[str]:
        """What was seen and is no finding."""
        if self.n_by_chance:
            yield (
                f"{counted(self.n_by_chance, 'pseudonym has', 'pseudonyms have')} {SHORTEST_RUN} "
                "characters or more in common with a "
                f"plain hash of an identifier; among so many people, {show_share(self.chance)} of all "
                "releases with random pseudonyms have as many by chance, so it is no finding"
            )


class Digests:
    """All plain hashes of some identifiers, for any number of searches; secret as the identifiers are.

    Those of few people are made once and kept, as long as this object is.
    """

    def __init__(self, ids: Sequence[str]) -> None:
        self._ids = ids
        self._kept: list[Codes] = []
        self._keeps = len(self._ids) * _STARTS[-1] <= _KEPT_BYTES
        self._lock = Lock()

    def __iter__(self) -> Iterator[Codes]:
        """uint8 [n, bytes] for each thousand: identifier and hashes side by side, fillings between them."""
        for part, start in enumerate(range(0, len(self._ids), IDS_AT_ONCE)):
            some = self._ids[start : start + IDS_AT_ONCE]
            if not self._keeps:
                yield side_by_side(some)
                continue
            with self._lock:  # of two searches at once, one makes them
                if part == len(self._kept):
                    self._kept.append(side_by_side(some))
            yield self._kept[part]

    def compare(self, prefixes: "Prefixes", searches: Sequence["Search"]) -> None:
        """Have everything that is looked for compared with all hashes."""
        for digests in self:
            prefixes.look(digests)
            for search in searches:
                search.look(digests)


def hashes_among(ids: Sequence[str] | Digests, names: Iterable[str]) -> frozenset[str]:
    """The names that are, or hold a piece of, a plain hash of an identifier, beyond what chance explains."""
    return search_hashes(ids, names).names


def search_hashes(ids: Sequence[str] | Digests, names: Iterable[str]) -> Hashes:
    """Look for plain hashes of identifiers in names, whole and in pieces.

    A name counts that is the first 8 hexadecimal digits of a hash or more, or that has 12 characters in a row
    from anywhere in one, in hexadecimal, base32 or base64. Hashes are made, compared and forgotten, unless
    they come as ``Digests``; only the names are held.
    """
    known = Pseudonyms.of(names).distinct()
    if not len(known):
        return Hashes(names=frozenset())
    prefixes = Prefixes(known)
    searches = [
        search for search in (Search(spelling, known) for spelling in SPELLINGS) if len(search.sought.windows)
    ]
    if not (len(prefixes.first) or searches):
        return Hashes(names=frozenset())
    (ids if isinstance(ids, Digests) else Digests(ids)).compare(prefixes, searches)
    found = frozenset([known[place] for search in searches for place in search.found()]) | prefixes.found
    rest = {place for search in searches for place in search.hit() if known[place] not in found}
    expected = sum(search.expected for search in searches)
    return Hashes(names=found, n_by_chance=len(rest), chance=at_least(len(rest), expected))


def side_by_side(ids: Sequence[str]) -> Codes:
    """uint8 [n, bytes]: each identifier, spelled out, and its hashes, at _STARTS, fillings between them."""
    filling = np.frombuffer(_FILLING, dtype=np.uint8)
    found = np.empty((len(ids), _STARTS[-1]), dtype=np.uint8)
    encoded = [uid.encode("utf-8", "surrogatepass") for uid in ids]
    columns = [
        [_spelled_out(uid) for uid in encoded],
        *([make(uid).digest() for uid in encoded] for make in _HASHES),
    ]
    for start, end, size, column in zip(_STARTS, _STARTS[1:], _SIZES, columns, strict=False):
        found[:, start : start + size] = np.frombuffer(b"".join(column), dtype=np.uint8).reshape(-1, size)
        found[:, start + size : end] = filling[: end - start - size]
    return found


def _spelled_out(uid: bytes) -> bytes:
    """The identifier itself, which hexadecimal digits or base64 hide from readers alone."""
    return (uid + 2 * _FILLING)[:_LONGEST_ID]


class Prefixes:
    """Names that are nothing but the first digits of a hash.

    first: uint32 [p], their first 8 digits, ascending.
    """

    def __init__(self, names: Iterable[str]) -> None:
        known = Pseudonyms.of(names)
        self.found: set[str] = set()
        self._numbers = np.sort(known.regular)
        self._by_prefix: dict[bytes, list[tuple[str, str]]] = {}
        for name in known.irregular.values():
            digits = name.lower().replace("-", "").replace(":", "").removeprefix("0x")
            if len(digits) >= SHORTEST_PREFIX and _HEX.fullmatch(digits):
                first = bytes.fromhex(digits[:SHORTEST_PREFIX])
                self._by_prefix.setdefault(first, []).append((digits, name))
        regular = (self._numbers >> np.uint64(32)).astype(">u4").view(np.uint32)
        strange = np.frombuffer(b"".join(self._by_prefix), dtype=np.uint32)
        self.first: FirstDigits = np.sort(np.concatenate([regular, strange]))

    def look(self, digests: Codes) -> None:
        """Mark the names with which these digests [n, bytes] begin."""
        self.take(beginning_with(self.first, digests))

    def take(self, digests: Iterable[bytes]) -> None:
        """Mark the names with which these begin, each of which begins as a name does."""
        for digest in digests:
            for digits, name in self._by_prefix.get(digest[: SHORTEST_PREFIX // 2], ()):
                if digest.hex().startswith(digits):
                    self.found.add(name)
            number = int.from_bytes(digest[:8], "big")
            place = int(np.searchsorted(self._numbers, np.uint64(number)))
            if place < len(self._numbers) and int(self._numbers[place]) == number:
                self.found.add(digest[:8].hex())


def beginning_with(first: FirstDigits, digests: Codes) -> Iterator[bytes]:
    """The hashes among these digests [n, bytes] whose first 8 digits are among these, ascending."""
    if not len(first):
        return
    for start, size in zip(_STARTS, _SIZES, strict=False):
        own = np.ascontiguousarray(digests[:, start : start + SHORTEST_PREFIX // 2]).view(np.uint32).ravel()
        for row in np.flatnonzero(first[np.searchsorted(first[:-1], own)] == own).tolist():
            yield digests[row, start : start + size].tobytes()


class Sought(NamedTuple):
    """Runs of characters to look for in digests.

    windows: uint64 [w], the runs, ascending. filter: of them. pieces: five bytes of each, for each place in a
    byte where it may begin, ascending; none where there are too many. pieces_filter: of them.
    """

    windows: Windows
    filter: Codes
    pieces: Windows
    pieces_filter: Codes

    @classmethod
    def of(cls, windows: Windows, bits: int) -> "Sought":
        """These runs, ascending, of characters of so many bits each."""
        width, step = min(64, bits * SHORTEST_RUN), gcd(bits, 8)
        pieces = np.empty(0, dtype=np.uint64)
        if len(windows) * (8 // step) <= _MOST_PIECES:
            kept = np.uint64((1 << 8 * _PIECE) - 1)
            behind = (np.uint64(width - begins - 8 * _PIECE) for begins in range(0, 8, step))
            pieces = np.unique(np.concatenate([windows >> end & kept for end in behind]))
        return cls(windows, _filter_of(windows), pieces, _filter_of(pieces))

    def among(self, digests: Codes) -> Codes:
        """Those of these digests [n, bytes] that may hold a run: no other holds five bytes of one."""
        if not len(self.pieces):
            return digests
        return digests[rows_that_hold(digests, _PIECE, self.pieces, self.pieces_filter)]


def _filter_of(runs: Windows) -> Codes:
    bits = max(10, min(32, (_FILTERED * len(runs)).bit_length()))
    filled = np.zeros(1 << (bits - 3), dtype=np.uint8)
    fill_filter(runs, filled)
    return filled


class Search:
    """All runs of 12 characters in some names, in one spelling, and which of them hashes have, too.

    sought: the runs. met: [w], which of them hashes have, of equal ones the first. compared: runs of hashes
    that were looked at.
    """

    def __init__(self, spelling: Spelling, names: Iterable[str]) -> None:
        self.spelling = spelling
        self._known = Pseudonyms.of(names)
        every = np.empty(sum(windows.size for windows, _ in self._cut()), dtype=np.uint64)
        behind = 0
        for windows, _ in self._cut():
            every[behind : behind + windows.size] = windows.ravel()
            behind += windows.size
        every.sort()
        self.sought = Sought.of(every, spelling.bits)
        self.met = np.zeros(len(every), dtype=np.bool_)
        self.compared = 0
        self._n_windows = int(np.count_nonzero(every[1:] != every[:-1])) + min(1, len(every))

    def _cut(self) -> Iterator[tuple[Windows, Integers]]:
        """The runs [n, places in a piece] of pieces of names, and whose they are [n]."""
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
                kept = ~np.isin(owner, list(self._known.irregular))
                some, owner = some[kept], owner[kept]
            yield (some[:, None] >> shifts) & _TWELVE_DIGITS, owner

    def look(self, digests: Codes) -> None:
        """Mark the runs that these digests [n, bytes] hold."""
        self.compared += mark_spelled(self.spelling, digests, self.sought, self.met)

    @property
    def expected(self) -> float:
        """How many runs of 12 characters chance lets names and hashes have in common."""
        possible = 2.0 ** min(64, self.spelling.bits * SHORTEST_RUN)
        return self._n_windows * self.compared / possible

    def _seen(self) -> tuple[Integers, Integers]:
        """Whose runs a hash has, too, and where each stands in its piece; by name, then by place."""
        seen = self.sought.windows[self.met]
        owners, places = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for windows, owner in self._cut() if len(seen) else ():
            row, at = np.nonzero(among(windows, seen))
            owners.append(owner[row])
            places.append(at)
        owner, place = np.concatenate(owners), np.concatenate(places)
        order = np.lexsort((place, owner))
        return owner[order], place[order]

    def hit(self) -> list[int]:
        """The places of all names with such a run."""
        places: list[int] = np.unique(self._seen()[0]).tolist()
        return places

    def found(self) -> Integers:
        """The places of the names whose runs are longer, or more, than chance explains."""
        owner, at = self._seen()
        if not len(owner):
            return owner
        breaks = np.flatnonzero((np.diff(owner) != 0) | (np.diff(at) != 1)) + 1
        starts = np.r_[0, breaks]
        length = np.diff(np.r_[starts, len(owner)]) + SHORTEST_RUN - 1
        least = _longer_than_chance(length, self.expected, self.spelling.bits)
        return np.unique(owner[starts][length >= least])


def mark_spelled(spelling: Spelling, digests: Codes, sought: Sought, met: Flags) -> int:
    """Mark the runs that these digests [n, bytes] hold, spelled so; how many of theirs were looked at."""
    some = sought.among(digests)
    for start in range(spelling.starts):
        mark_runs(some, start, spelling.bits, SHORTEST_RUN, sought.windows, sought.filter, met)
    in_one = (runs_in(digests.shape[1] - start, spelling.bits) for start in range(spelling.starts))
    return len(digests) * sum(in_one)


def runs_in(n_bytes: int, bits: int) -> int:
    """How many runs there are in so many bytes, written as characters of so many bits."""
    return max(0, -(-8 * n_bytes // bits) - SHORTEST_RUN + 1)


def at_least(n: int, expected: float) -> float:
    """The chance of n or more where so many are expected (Poisson)."""
    fewer, term = 0.0, exp(-expected)
    for number in range(n):
        fewer += term
        term *= expected / (number + 1)
    return max(0.0, 1.0 - fewer)


def _longer_than_chance(lengths: Integers, expected: float, bits: int) -> int:
    """The least length from which on chance explains so many runs in fewer than 1 of a million releases.

    expected: runs of 12 characters to expect by chance; each further character divides them by 2^bits. n or
    more come with a chance of at most expected^n / n! (Poisson).
    """
    for least in range(SHORTEST_RUN, int(lengths.max()) + 1):
        n = int((lengths >= least).sum())
        by_chance = expected / 2.0 ** (bits * (least - SHORTEST_RUN))
        if n * log(by_chance) - lgamma(n + 1) < log(FALSE_ALARMS):
            return least
    return int(lengths.max()) + 1


def _windows(codes: Codes, bits: int) -> Windows:
    """uint64 [n, length - 11]: every 12 characters in a row as a number (of base64, its last 64 bits)."""
    wide = codes.shape[1] - SHORTEST_RUN + 1
    if wide < 1:
        return np.empty((len(codes), 0), dtype=np.uint64)
    windows = codes.astype(np.uint64)
    quarter = windows
    for length in (1, 2, 4):  # of the runs so far, each put behind the one before
        windows = (windows[:, :-length] << np.uint64(length * bits)) | windows[:, length:]
        quarter = windows if length == 2 else quarter
    return (windows[:, :wide] << np.uint64(4 * bits)) | quarter[:, 8 : 8 + wide]
