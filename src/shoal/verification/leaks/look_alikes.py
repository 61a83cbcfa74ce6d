"""Identifiers that look the same."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

import numpy as np

from shoal.model.intake import Reading
from shoal.model.population import Population
from shoal.model.verdicts import Finding
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

# numbers as programs write them: an exponent has a sign, or the number a point (12e3 may be hexadecimal)
_NUMERAL: Final = re.compile(r"([+-]?)([0-9]+)(?:[.,]([0-9]*))?(?:(?<=[.,0-9])e([+-]?[0-9]{1,3}))?")
_THOUSANDS: Final = re.compile(r"[+-]?[0-9]{1,3}(,[0-9]{3})+")
# a UUID or an address of a network
_BYTES: Final = re.compile(r"(?:0x)?[0-9a-f]{2}(?:[-:.]?[0-9a-f]{2}){5,15}")
_MARKS: Final = re.compile(r"[-:.]")
_ADDRESS: Final = re.compile(r"(?:mailto|tel|sms|sip|sips|xmpp|acct|urn:uuid):")
# letters of Greek and Cyrillic that are drawn as the letters of Latin below them
_DRAWN_AS_LATIN: Final = str.maketrans(
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0456\u0458\u0455"
    "\u03b1\u03b2\u03b5\u03b6\u03b7\u03b9\u03ba\u03bc\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7",
    "abekmhopctyxijs" + "abezhikmnoptyx",
)
_WRAPPED: Final = re.compile(r"""=?b?"(.*)"|=?b?'(.*)'|'(.*)|\{(.*)\}""")
_DAY: Final = len("@2024-05-01")  # behind an identifier, where each day is a subject
_IS_SEEN: Final = np.array([unicodedata.category(chr(code)) not in _UNSEEN for code in range(128)])


def look_alikes(original: Population, reading: Reading) -> tuple[list[Finding], list[str]]:
    """A finding when identifiers look the same, for k people may be fewer; a note if ``reading`` says not."""
    findings, notes = list[Finding](), list[str]()
    for numbers, why in (
        (_counts_by_appearance(original.ids), "case, by Unicode's normal form or by what cannot be seen"),
        (
            _counts_by_spelling(original.ids, _DAY if reading.per_day else 0),
            "how programs write one identifier, such as 100 and 100.0",
        ),
    ):
        if not numbers:
            continue
        n = sum(numbers)
        differ = f"{counted(n, 'identifier differs', 'identifiers differ')} from another one only by {why}"
        if reading.ids_as_they_are:
            notes.append(f"{differ}. They count as {n} people, as the release says, not as {len(numbers)}")
        else:
            message = f"{differ}, and the release does not say that these are {n} people, not {len(numbers)}"
            findings.append(Finding("look-alikes", message))
    return findings, notes


def count_look_alikes(ids: Sequence[str], *, per_day: bool) -> int:
    """How many ids look like another one of them."""
    return max(sum(_counts_by_appearance(ids)), sum(_counts_by_spelling(ids, _DAY if per_day else 0)))


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


def _counts_by_spelling(ids: Sequence[str], day: int) -> list[int]:
    """Programs write 7.0 where a column has gaps, and drop zeros, quotes and hyphens."""
    counts: Counter[str] = Counter()
    usual: list[str] = []
    for uid in ids:
        text, suffix = (uid[:-day], uid[-day:]) if day else (uid, "")
        spelled = _usual_spelling(text)
        if spelled is None:
            usual.append(text.lower() + suffix)
        else:
            counts[spelled + suffix] += 1
    if counts:
        counts.update(text for text in usual if text in counts)
    return [number for number in counts.values() if number > 1]


def _usual_spelling(text: str) -> str | None:
    """The usual spelling of a text in lower case; None where the text has it."""
    if text.isascii() and (text.isalpha() or (text.isdigit() and text[0] != "0")):
        return None
    before = text.lower()
    for encoding in () if text.isascii() else ("cp1252", "latin-1"):  # UTF-8 that was read as something else
        with suppress(UnicodeError):
            text = text.encode(encoding).decode()
            break
    text = text.lower()
    text = text[match.end() :] if (match := _ADDRESS.match(text)) else text
    if wrapped := _WRAPPED.fullmatch(text):
        text = next(inner for inner in wrapped.groups() if inner is not None)
    if _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    if (numeral := _NUMERAL.fullmatch(text)) and not (
        numeral[4] and numeral[3] is None and numeral[4][0].isdigit()
    ):
        text = _digits_of(numeral)
    elif _BYTES.fullmatch(text):
        text = _MARKS.sub("", text.removeprefix("0x"))
    return None if text == before else text


def _digits_of(numeral: re.Match[str]) -> str:
    """The digits of a number without zeros at its ends, and a point where it has a fraction."""
    sign, whole, part, power = numeral.groups(default="")
    digits, point = whole + part, len(whole) + int(power or 0)
    digits = digits.ljust(point, "0") if point > 0 else digits.rjust(len(digits) - point, "0")
    whole, part = digits[: max(point, 0)].lstrip("0") or "0", digits[max(point, 0) :].rstrip("0")
    return f"{'-' * (sign == '-')}{whole}{'.' * bool(part)}{part}"


def _appearances(ids: Sequence[str]) -> Iterator[TextSpans]:
    for part in split_identifiers(ids):
        yield part.lower.only(_IS_SEEN[part.lower.together.codes])
        yield TextSpans.of([_appearance(uid) for uid in part.others])


def _appearance(uid: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", uid).casefold())
    seen = (
        one for one in folded if unicodedata.category(one) not in _UNSEEN and one not in _DRAWN_AS_NOTHING
    )
    return "".join(seen).translate(_DRAWN_AS_LATIN)
