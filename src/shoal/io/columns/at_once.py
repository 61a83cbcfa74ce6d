"""Ids that may stand for several people: in two places at nearly one time, or such as guest or -1."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from shoal.io.columns.time_text import SECOND, Micros
from shoal.io.columns.values import Codes
from shoal.runtime.arrays import Floats, Integers

FEW: Final = 0.1  # of the positions may lie elsewhere at the same time
_FAR_M, _SOUND_M_PER_S = 1000.0, 340.0
_EARTH_M: Final = 6_371_000.0
_MOST_ROWS: Final = 1 << 18
_MIXED: Final = 2_654_435_761  # Knuth's multiplier: a sample of times with all positions of each


class PlacesAtOnce:
    """Counts positions that the same person reaches faster than sound from another, in a sample."""

    def __init__(self) -> None:
        self._rows: list[tuple[Codes, Micros, Floats]] = []  # of a piece, in which alone the codes hold
        self._every = 1
        self._counts: Integers = np.zeros(2, dtype=np.int64)  # apart, looked at

    def add(self, code: Codes, t: Micros, first: Floats, second: Floats, *, degrees: bool) -> None:
        """Add one batch, in degrees or meters."""
        code, t, at = self._thinned((code, t, np.stack([first, second], axis=1)))
        self._rows.append((code, t, np.stack(in_meters(*at.T, degrees=degrees), axis=1)))
        while sum(len(part[0]) for part in self._rows) > _MOST_ROWS and self._every < _MIXED:
            self._every *= 2
            self._rows = [self._thinned(part) for part in self._rows]

    def _thinned(self, part: tuple[Codes, Micros, Floats]) -> tuple[Codes, Micros, Floats]:
        if self._every == 1:
            return part
        some = (part[1] // SECOND * _MIXED >> 16) % self._every == 0
        return part[0][some], part[1][some], part[2][some]

    def join(self, later: "PlacesAtOnce") -> None:
        """Add the counts of another piece."""
        self._counts += later.counts()

    def counts(self) -> Integers:
        """Positions that are too far from another one of the same person, and all in the sample."""
        if not self._rows:
            return self._counts
        code, t, at_m = (np.concatenate(values) for values in zip(*self._rows, strict=True))
        order = np.lexsort((at_m[:, 0], t, code))
        code, t, at_m = code[order], t[order], at_m[order]
        far_m = np.linalg.norm(np.diff(at_m, axis=0), axis=1)
        far = (far_m > _FAR_M) & (far_m > _SOUND_M_PER_S / SECOND * np.diff(t)) & (np.diff(code) == 0)
        apart = np.append(far, False) | np.append(False, far)
        counts: Integers = self._counts + np.array([np.count_nonzero(apart), len(code)])
        return counts


def in_meters(first: Floats, second: Floats, *, degrees: bool) -> tuple[Floats, ...]:
    """Longitude and latitude as places on a globe, on three axes; other positions as they are."""
    if not degrees:
        return first, second
    lon, lat = np.radians(first), np.radians(second)
    axes = np.cos(lon) * np.cos(lat), np.sin(lon) * np.cos(lat), np.sin(lat)
    return tuple(_EARTH_M * axis for axis in axes)


_COUNTED: Final = re.compile(r"(|.*[^0-9-]-?)(-?[0-9]+)(?:\.0)?")
_NEAR: Final = 10  # another number so near shows that these count people
_OFTEN: Final = 3  # times the rows of others
_JUMP_M, _JUMP_M_PER_S, _JUMPS = 5000.0, 70.0, 0.1


class SharedIds:
    """The rows of ids that may stand for many people, to tell those that do from a person with such an id."""

    def __init__(self) -> None:
        self._rows: dict[str, list[Floats]] = {}  # of each: seconds, and meters on each axis
        self._counts: Counter[str] = Counter()

    def add(
        self, names: Mapping[int, str], code: Codes, t: Micros, at: Sequence[Floats], *, degrees: bool
    ) -> None:
        """Add one batch. names: such ids by their codes. at: degrees, or meters."""
        for number, text in names.items():
            rows = np.flatnonzero(code == number)
            if rows.size and self._counts[text] < _MOST_ROWS:
                at_m = in_meters(*(axis[rows] for axis in at), degrees=degrees)
                self._rows.setdefault(text, []).append(np.stack([t[rows] / SECOND, *at_m]))
            if rows.size:
                self._counts[text] += rows.size

    def join(self, later: "SharedIds") -> None:
        """Add the rows of another piece."""
        for text, rows in later._rows.items():
            self._rows.setdefault(text, []).extend(rows if self._counts[text] < _MOST_ROWS else ())
        self._counts.update(later._counts)

    def judge(self, ids: Iterable[str], people: int, rows: int) -> tuple[list[str], int]:
        """Those of such ids that do stand for many, and how many may. people, rows: of all ids."""
        numbers = {text: match for text in self._counts if (match := _COUNTED.fullmatch(text))}
        apart = self._counts.keys() - (self._among_others(ids, numbers) if numbers else set())
        usual = (rows - self._counts.total()) / max(people - len(self._counts), 1)
        many = [text for text in apart if self._counts[text] > _OFTEN * usual > 0 or self._jumps(text)]
        return many, len(apart) - len(many)

    def _among_others(self, ids: Iterable[str], numbers: Mapping[str, re.Match[str]]) -> set[str]:
        """Those that count people as other ids near them do: 0 among 0 to 99, and person0 beside person1."""
        near: defaultdict[str, set[str]] = defaultdict(set)
        for text, match in numbers.items():
            number, width = int(match[2]), len(match[2])
            for other in range(number - _NEAR, number + _NEAR + 1):
                for name in (f"{match[1]}{other}", f"{match[1]}{other:0{width}}"):
                    if name not in numbers and (other < 0) == (number < 0):
                        near[name].add(text)
        return set().union(*(near[text] for text in ids if text in near))

    def _jumps(self, text: str) -> bool:
        rows = np.concatenate(self._rows[text], axis=1)
        t, *at_m = np.diff(rows[:, np.argsort(rows[0], kind="stable")])
        far_m = np.linalg.norm(at_m, axis=0)
        jumps = (far_m > _JUMP_M) & (far_m > _JUMP_M_PER_S * t)
        return bool(np.count_nonzero(jumps) > _JUMPS * len(t))
