"""Which rows are usable."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

import numpy as np

from shoal.io.columns.time_text import Micros
from shoal.io.columns.values import Codes
from shoal.messages import say
from shoal.runtime.arrays import Flags, Floats

EMPTY_ID: Final = say("row.empty_id", "empty id")
NO_PERSON: Final = say("row.no_person", "id that names no person, such as null or N/A")
BAD_TIME: Final = say("row.bad_time", "empty or unreadable time")
BEFORE_1970: Final = say("row.before_1970", "time before 1970")
FUTURE: Final = say("row.future", "time in the future")
BAD_COORDINATE: Final = say("row.bad_coordinate", "empty or unreadable coordinate")
NOT_FINITE: Final = say("row.not_finite", "coordinate not finite")
LATITUDE: Final = say("row.latitude", "latitude outside -90..90")
LONGITUDE: Final = say("row.longitude", "longitude outside -180..180")
ZERO: Final = say("row.zero", "position (0, 0)")
OUTSIDE: Final = say("row.outside", "position outside the projection")
TOO_LARGE: Final = say("row.too_large", "coordinate beyond 1e12 m")
OFF_LIST: Final = say("row.off_list", "position at no place of the list of places")
DUPLICATE: Final = say("row.duplicate", "exact duplicate")
SAME_MINUTE: Final = say("row.same_minute", "same person, cell and minute after rounding")
SAME_SLOT: Final = say("row.same_slot", "same person, cell and time slot after rounding")
BLANKS: Final = say("row.blanks", "id with blanks around it, which were removed")
NAIVE: Final = say("row.naive", "time without a zone taken as UTC")
LOCAL_METERS: Final = say("row.local_meters", "x and y without a reference system taken as meters")
DECIMAL_COMMA: Final = say("row.decimal_comma", "coordinate with a decimal comma")
WRAPPED: Final = say("row.wrapped", "longitude beyond 180, less 360")
TWICE: Final = say("row.twice", "local time that the clock showed twice, taken as the first")
NEVER: Final = say("row.never", "local time that the clock skipped, taken as the moment after")

LARGEST_M: Final = 1e12


class Sieve:
    """The usable rows of one batch; each other row is counted under the first reason that applies."""

    def __init__(self, rows: int, dropped: Counter[str]) -> None:
        self.good: Flags = np.ones(rows, dtype=np.bool_)
        self.first: dict[str, int] = {}  # such row for each reason
        self._dropped = dropped

    def drop(self, reason: str, bad: Flags) -> None:
        """Drop and count the rows where ``bad``."""
        if newly := int(np.count_nonzero(bad & self.good)):
            self._dropped[reason] += newly
            self.first.setdefault(reason, int(np.argmax(bad & self.good)))
            self.good &= ~bad

    def drop_angles(self, lon_deg: Floats, lat_deg: Floats) -> None:
        """Drop positions off the globe."""
        self.drop(LATITUDE, ~(np.abs(lat_deg) <= 90))
        self.drop(LONGITUDE, ~(np.abs(lon_deg) <= 180))


class TimeOrder:
    """Counts rows earlier than the person's previous good row, in file order over all batches."""

    def __init__(self) -> None:
        self.rows = 0
        self._first: Micros = np.empty(0, dtype=np.int64)
        self._latest: Micros = np.empty(0, dtype=np.int64)

    def count(self, code: Codes, t: Micros) -> None:
        """Count one batch."""
        if not code.size:
            return
        if code.max() >= len(self._latest):
            more = max(len(self._latest), int(code.max()) + 1 - len(self._latest))
            none = np.full(more, -1)
            self._first, self._latest = np.append(self._first, none), np.append(self._latest, none)
        order = slice(None) if (np.diff(code) >= 0).all() else np.argsort(code, kind="stable")
        code, t = code[order], t[order]
        before, first = np.roll(t, 1), np.append(True, code[1:] != code[:-1])
        before[first] = self._latest[code[first]]
        fresh = first & (before < 0)
        self._first[code[fresh]] = t[fresh]
        self.rows += int(np.count_nonzero(t < before))
        last = np.append(first[1:], True)
        self._latest[code[last]] = t[last]

    def ends(self, people: int) -> tuple[Micros, Micros]:
        """The times of each person's first and last good row, [n]; -1 without a row."""
        none = np.full(max(people - len(self._latest), 0), -1)
        return np.append(self._first, none)[:people], np.append(self._latest, none)[:people]


def format_counts(counts: Mapping[str, int], examples: Mapping[str, str]) -> str:
    """Rows by reason in one line, the most frequent first. examples: where the first is, if known."""
    return ", ".join(
        f"{rows:,} {reason}" + (f" (first in {examples[reason]})" if reason in examples else "")
        for reason, rows in sorted(counts.items(), key=lambda item: -item[1])
    )
