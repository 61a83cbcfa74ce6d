"""Identifiers that look like one person's: by case, normal form, what nobody sees, or .0 behind a number."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from shoal.model.trajectories import Population
from shoal.runtime.arrays import distinct
from shoal.units import counted
from shoal.verification.leaks.forms import SideBySide, among, parts_of

# Unicode's categories of marks of format, controls and blanks
_UNSEEN: Final = frozenset({"Cf", "Cc", "Zs", "Zl", "Zp"})
# letters and marks that fonts draw as nothing, and selectors of variants
_DRAWN_AS_NOTHING: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {
    chr(code)
    for first, last in ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
    for code in range(first, last + 1)
}

_WITH_POINT: Final = re.compile(r"(-?[0-9]+)\.0+")
_IS_SEEN: Final = np.array([unicodedata.category(chr(code)) not in _UNSEEN for code in range(128)])


def look_alikes(original: Population) -> Iterator[str]:
    """A note when several identifiers are one to a reader; k people may then be fewer than k."""
    yield from _noted(_by_face(original.ids), "case, by Unicode's normal form or by what cannot be seen")
    yield from _noted(_by_number(original.ids), ".0 behind a whole number")


def _noted(numbers: Sequence[int], why: str) -> Iterator[str]:
    """numbers: of the identifiers of each person, as far as they are several."""
    if numbers:
        n = sum(numbers)
        yield (
            f"{counted(n, 'identifier differs', 'identifiers differ')} from another one only by {why}. They "
            f"count as {n} people, not as {len(numbers)}: write those of one person alike in the raw data"
        )


def _by_face(ids: Sequence[str]) -> list[int]:
    hashes = np.sort(np.concatenate([faces.hashes() for faces in _faces(ids)]))
    again = distinct(hashes[1:][hashes[1:] == hashes[:-1]])
    if not len(again):
        return []
    alike = Counter(
        faces.text(number)
        for faces in _faces(ids)
        for number in np.flatnonzero(among(faces.hashes(), again)).tolist()
    )
    return [number for number in alike.values() if number > 1]


def _by_number(ids: Sequence[str]) -> list[int]:
    """Programs write 7.0 where a column of numbers has gaps."""
    found = (_WITH_POINT.fullmatch(uid) for uid in ids if ".0" in uid)
    alike = Counter(each[1] for each in found if each is not None)
    if alike:
        alike.update(uid for uid in ids if uid in alike)
    return [number for number in alike.values() if number > 1]


def _faces(ids: Sequence[str]) -> Iterator[SideBySide]:
    """The identifiers as they look, some at once."""
    for part in parts_of(ids):
        yield part.lower.only(_IS_SEEN[part.lower.together.codes])
        yield SideBySide.of([_face(uid) for uid in part.others])


def _face(uid: str) -> str:
    """The identifier as it looks: compatible forms made one, case folded, without what cannot be seen."""
    return _seen(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", uid).casefold()))


def _seen(text: str) -> str:
    return "".join(
        character
        for character in text
        if unicodedata.category(character) not in _UNSEEN and character not in _DRAWN_AS_NOTHING
    )
