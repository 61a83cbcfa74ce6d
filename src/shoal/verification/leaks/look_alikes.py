"""Identifiers that look like one person's: they differ by case, by normal form, or by what nobody sees."""

import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import Final

from shoal.model.trajectories import Population

# Unicode's categories of marks of format, controls and blanks
_UNSEEN: Final = frozenset({"Cf", "Cc", "Zs", "Zl", "Zp"})
# letters and marks that fonts draw as nothing, and selectors of variants
_DRAWN_AS_NOTHING: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {
    chr(code)
    for first, last in ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
    for code in range(first, last + 1)
}


def look_alikes(original: Population) -> Iterator[str]:
    """A note when several identifiers are one to a reader; k people may then be fewer than k."""
    faces = Counter(_face(uid) for uid in original.ids)
    alike = [number for number in faces.values() if number > 1]
    if alike:
        yield (
            f"{sum(alike)} identifiers differ from another one only by case, by Unicode's normal form or by "
            f"what cannot be seen. They count as {sum(alike)} people, not as {len(alike)}: write those of "
            "one person alike in the raw data"
        )


def _face(uid: str) -> str:
    """The identifier as it looks: compatible forms made one, case folded, without what cannot be seen."""
    if uid.isascii() and uid.isalnum():
        return uid.lower()  # all of it is seen
    return _seen(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", uid).casefold()))


def _seen(text: str) -> str:
    return "".join(
        character
        for character in text
        if unicodedata.category(character) not in _UNSEEN and character not in _DRAWN_AS_NOTHING
    )
