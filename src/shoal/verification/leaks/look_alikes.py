"""Note identifiers that look the same."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from shoal.model.trajectories import Population
from shoal.runtime.arrays import distinct
from shoal.units import counted
from shoal.verification.leaks.forms import TextSpans, is_among, split_identifiers

# Unicode's categories of marks of format, controls and blanks
_UNSEEN: Final = frozenset({"Cf", "Cc", "Zs", "Zl", "Zp"})
# letters and marks without a glyph, and variation selectors
_DRAWN_AS_NOTHING: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {
    chr(code)
    for first, last in ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
    for code in range(first, last + 1)
}

_WITH_POINT: Final = re.compile(r"(-?[0-9]+)\.0+")
_IS_SEEN: Final = np.array([unicodedata.category(chr(code)) not in _UNSEEN for code in range(128)])


def look_alikes(original: Population) -> Iterator[str]:
    """A note when identifiers look the same to readers; k people may then be fewer."""
    yield from _note(
        _counts_by_appearance(original.ids), "case, by Unicode's normal form or by what cannot be seen"
    )
    yield from _note(_counts_by_number(original.ids), ".0 behind a whole number")


def _note(numbers: Sequence[int], why: str) -> Iterator[str]:
    if numbers:
        n = sum(numbers)
        yield (
            f"{counted(n, 'identifier differs', 'identifiers differ')} from another one only by {why}. They "
            f"count as {n} people, not as {len(numbers)}: write those of one person alike in the raw data"
        )


def _counts_by_appearance(ids: Sequence[str]) -> list[int]:
    hashes = np.sort(np.concatenate([faces.hashes() for faces in _appearances(ids)]))
    repeated = distinct(hashes[1:][hashes[1:] == hashes[:-1]])
    if not len(repeated):
        return []
    counts = Counter(
        faces.text(number)
        for faces in _appearances(ids)
        for number in np.flatnonzero(is_among(faces.hashes(), repeated)).tolist()
    )
    return [number for number in counts.values() if number > 1]


def _counts_by_number(ids: Sequence[str]) -> list[int]:
    """Programs write 7.0 where a column has gaps."""
    matches = (_WITH_POINT.fullmatch(uid) for uid in ids if ".0" in uid)
    counts = Counter(match[1] for match in matches if match is not None)
    if counts:
        counts.update(uid for uid in ids if uid in counts)
    return [number for number in counts.values() if number > 1]


def _appearances(ids: Sequence[str]) -> Iterator[TextSpans]:
    for part in split_identifiers(ids):
        yield part.lower.only(_IS_SEEN[part.lower.together.codes])
        yield TextSpans.of([_appearance(uid) for uid in part.others])


def _appearance(uid: str) -> str:
    return _visible_characters(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", uid).casefold()))


def _visible_characters(text: str) -> str:
    return "".join(
        character
        for character in text
        if unicodedata.category(character) not in _UNSEEN and character not in _DRAWN_AS_NOTHING
    )
