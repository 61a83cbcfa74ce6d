"""Ids that look alike: programs write the id of one person in several ways, and some texts name no person."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Final

import numpy as np
import pyarrow as pa

# as databases, spreadsheets and languages write no value; zeros are the nil UUID of RFC 9562, no MAC, no IMEI
_NOBODY: Final = re.compile(
    r"[!-/:-@\[-`{-~\u2013\u2014]+|[(\[<#]?(?:null|nan|nat|none|nil|na|n/a|n\.a\.)[)\]>!]?|[+-]nan|\\n"
    r"|#n/a n/a|#(?:value|ref|num|div/0)!|#name\?|-?1\.#(?:ind|qnan)"
    r"|void|undefined|unknown|missing|not available|(?:0[-:]?){12,}|02(?::00){5}",
    re.IGNORECASE,
)
EXACT: Final = {16: 2**11, 32: 2**24, 64: 2**53}  # whole numbers below are exact in so many bits
_AT_ONCE: Final = 1 << 16
# programs write the exponent with a sign or the number with a point: 12e3 may be hexadecimal
_NUMBER: Final = re.compile(r"([+-]?)([0-9]+)(?:[.,]([0-9]*))?(?:(?<=[.,0-9])e([+-]?[0-9]{1,3}))?")
_GROUPS: Final = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+")
_QUOTED: Final = re.compile(r"""=?b?(["'])(.*)\1|'(.*)""")
_HEXADECIMAL: Final = re.compile(r"(?:0x|\{)?(?:[0-9a-f]{2}[-:]?){6,16}\}?$|[0-9a-f]{4}(?:\.[0-9a-f]{4}){2}$")
_SCHEME: Final = re.compile(r"(?:mailto|tel|sms|sips?|xmpp|acct|urn:uuid):")
# small Cyrillic and Greek letters that have, small or large, the look of Latin ones
_LATIN: Final = str.maketrans("авекмнорстухіјѕαβεζηικμνορτυχ", "abekmhopctyxijsabezhikmnoptyx")
_SEPARATORS: Final = str.maketrans("", "", "-:.{}")
_UUID: Final = 36  # characters with hyphens
_USUAL: Final = re.compile(r"[g-z][\w.@/-]*")  # neither hexadecimal nor a number; no blanks and no quotes
_ASCII_UNSEEN: Final = dict.fromkeys([*range(33), 127])
_UNSEEN: Final = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})  # controls, marks of format and blanks


def names_nobody(text: str) -> bool:
    """Whether an id is a text for no value, such as null, N/A or -."""
    return (len(text) < _UUID or text[0] == "0") and _NOBODY.fullmatch(text) is not None


def has_lost_digits(text: str) -> bool:
    """Whether an id is a number that a program shortened, as spreadsheets do (3.56938E+14), or rounded."""
    match = _number(text.lower()) if "." in text or "," in text or "+" in text else None
    if match is None or not (match[3] is not None or match[4]):
        return False
    digits = len((match[2] + (match[3] or "")).lstrip("0"))
    if match[4] and digits < len(match[2].lstrip("0")) + int(match[4]):
        return True
    return _value(match) >= EXACT[64]


def count_look_alikes(ids: Sequence[str] | pa.Array) -> tuple[int, int]:
    """The number of different ids that look like another one, and of the people that these may be."""
    hashes = np.fromiter((hash(_appearance(text)) for text in texts_of(ids)), np.int64, len(ids))
    ordered = np.sort(hashes)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(repeated):
        return 0, 0
    rows = np.flatnonzero(np.isin(hashes, repeated)).tolist()
    alike = Counter(_appearance(str(ids[row])) for row in rows)
    groups = [number for number in alike.values() if number > 1]
    return sum(groups), len(groups)


def texts_of(ids: Sequence[str] | pa.Array) -> Iterable[str]:
    """Ids as texts, of Arrow's part by part."""
    if not isinstance(ids, pa.Array):
        return ids
    return (
        text for first in range(0, len(ids), _AT_ONCE) for text in ids[first : first + _AT_ONCE].to_pylist()
    )


def _appearance(text: str) -> str:
    """The same text for ids that differ only as programs make them differ."""
    if text.isascii():
        text = text.lower()
        if text.isalnum():
            return (text.lstrip("0") or "0") if text.isdigit() else text.removeprefix("0x")
        if len(text) == _UUID and text.count("-") == 4:
            return text.replace("-", "")
        if _USUAL.fullmatch(text):
            return text
        text = text.translate(_ASCII_UNSEEN)
    else:
        text = _folded(text).translate(_LATIN)
    if quoted := _QUOTED.fullmatch(text):
        text = quoted[2] or quoted[3] or ""
    text = _SCHEME.sub("", text, count=1) if _SCHEME.match(text) else text
    if _GROUPS.fullmatch(text):
        text = text.replace(",", "")
    if number := _number(text):
        digits = f"{_value(number):f}"
        return digits.rstrip("0").rstrip(".") if "." in digits else digits
    if _HEXADECIMAL.match(text):
        return text.translate(_SEPARATORS).removeprefix("0x")
    return text


def _folded(text: str) -> str:
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", _decoded(text)).casefold())
    visible = (sign for sign in text if unicodedata.category(sign) not in _UNSEEN)
    return "".join(str(unicodedata.decimal(sign, sign)) for sign in visible)


def _decoded(text: str) -> str:
    """UTF-8 that was read as an encoding of Windows (JÃ¼rgen) becomes what it was."""
    for encoding in () if text.isascii() else ("cp1252", "latin-1"):
        with suppress(UnicodeError):
            return text.encode(encoding).decode()
    return text


def _number(text: str) -> re.Match[str] | None:
    match = _NUMBER.fullmatch(text)
    if match is None or (match[4] and match[3] is None and match[4][0] not in "+-"):
        return None
    return match


def _value(number: re.Match[str]) -> Decimal:
    sign, whole, part, exponent = number.groups()
    return Decimal(f"{sign}{whole}.{part or '0'}e{exponent or 0}")
