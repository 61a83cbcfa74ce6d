"""Identifiers that look like one person's: they differ by case, by normal form, or by what nobody sees."""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from shoal.model.trajectories import Population
from shoal.runtime.arrays import different
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

_IS_SEEN: Final = np.array([unicodedata.category(chr(code)) not in _UNSEEN for code in range(128)])


def look_alikes(original: Population) -> Iterator[str]:
    """A note when several identifiers are one to a reader; k people may then be fewer than k."""
    hashes = np.sort(np.concatenate([faces.hashes() for faces in _faces(original.ids)]))
    again = different(hashes[1:][hashes[1:] == hashes[:-1]])
    if not len(again):
        return
    alike = Counter(
        faces.text(number)
        for faces in _faces(original.ids)
        for number in np.flatnonzero(among(faces.hashes(), again)).tolist()
    )
    numbers = [number for number in alike.values() if number > 1]
    if numbers:
        n = sum(numbers)
        yield (
            f"{counted(n, 'identifier differs', 'identifiers differ')} from another one only by case, by "
            "Unicode's normal form or by what "
            f"cannot be seen. They count as {n} people, not as {len(numbers)}: write those of one person "
            "alike in the raw data"
        )


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
