"""Ids that look alike: programs write one person's in several ways, and some texts name nobody, or many."""

import html
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from ipaddress import ip_address
from itertools import compress
from typing import Final
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from shoal.io.toml_tables import TABLES, expressions

_TABLE: Final = TABLES["look_alikes"]
_TEXTS: Final = {kind: "|".join(_TABLE[kind]) for kind in ("nobody", "nobody_in_brackets", "shared")}
_PATTERNS: Final = {name: re.compile(row) for name, row in expressions(_TABLE["patterns"], _TEXTS).items()}
_SHARED_NUMBERS: Final = frozenset(  # also the id that Android 2.2 gave to all, and a default serial number
    ["9774d56d682e549c", "0123456789abcdef", "0123456789ABCDEF"]
    + [str(number) for bits in (15, 16, 31, 32, 63, 64) for number in (2**bits - 1, -(2**bits))]
    + ["01234567890123456789"[first:end] for first in (0, 1) for end in range(first + 6, 21)]
)
EXACT: Final = {16: 2**11, 32: 2**24, 64: 2**53}  # whole numbers below are exact in so many bits
_AT_ONCE: Final = 1 << 16
_DECIMALS: Final = 9  # of a number that a program computed
_LATIN: Final = str.maketrans(*_TABLE["letters"].values())
_SPELLED_OUT: Final = str.maketrans(_TABLE["spelled_out"])
_UUID: Final = 36  # characters with hyphens
_ASCII_UNSEEN: Final = dict.fromkeys([*range(33), 127])
_UNSEEN: Final = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})  # controls, marks of format and blanks
_FEWEST_SIGNS: Final = 5  # of an id that programs write with and without hyphens
_FEWEST_DIGITS: Final = 3  # of one that they write with and without any sign (phones, plates)
_FEWEST_LETTERS: Final = 3  # of one that they write with and without accents
_TELEPHONE: Final = 9  # digits of a number that no country has by chance in another one's
_ACCENTS: Final = frozenset(map(chr, range(0x300, 0x370)))
_Left = tuple[object, ...]  # out of a text: where, and accents
_Form = tuple[_Left, _Left]


def names_nobody(text: str) -> bool:
    """Whether an id is a text for no value, such as null, N/A or -."""
    return (len(text) < _UUID or text[0] in "0fF") and _PATTERNS["names_nobody"].fullmatch(text) is not None


def may_be_shared(text: str) -> bool:
    """Whether programs write an id for all whom they do not know: guest, -1, 0, 999999 or 1234567890."""
    if text[0] not in "-0123456789":
        return _PATTERNS["shared_word"].fullmatch(text) is not None
    return text in _SHARED_NUMBERS or _PATTERNS["shared_number"].fullmatch(text) is not None


def has_lost_digits(text: str) -> bool:
    """Whether an id is a number that a program shortened, as spreadsheets do (3.56938E+14), or rounded."""
    match = _number(text.lower()) if "." in text or "," in text or "+" in text else None
    if match is None or not (match[3] is not None or match[4]):
        return False
    digits = len((match[2] + (match[3] or "")).lstrip("0"))
    if match[4] and digits < len(match[2].lstrip("0")) + int(match[4]):
        return True
    return _value(match) >= EXACT[64]


def has_lost_letters(text: str) -> bool:
    """Whether a program wrote a sign for a letter that it did not know (J?rgen)."""
    return ("?" in text or "\ufffd" in text) and _PATTERNS["lost_letter"].search(text) is not None


def find_look_alikes(ids: Sequence[str] | pa.Array) -> list[list[str]]:
    """Groups of different ids that look alike, each of which may be one person."""
    fuller = _fuller_forms(ids)
    hashes = np.fromiter((hash(_key(text, fuller)[0]) for text in texts_of(ids)), np.int64, len(ids))
    ordered = np.sort(hashes)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(repeated):
        return []
    alike: defaultdict[str, defaultdict[_Form, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in np.flatnonzero(np.isin(hashes, repeated)).tolist():
        text, form = _key(str(ids[row]), fuller)
        alike[text][form].append(str(ids[row]))
    groups: list[list[str]] = []
    for forms in alike.values():
        # 1-12 and 11-2 are two people, and each may be 112; so are José and Josè, and may be Jose
        in_all = [() not in left for left in zip(*forms, strict=True)]
        joined: defaultdict[tuple[_Left, ...], list[str]] = defaultdict(list)
        for form, some in forms.items():
            joined[tuple(compress(form, in_all))] += some
        groups += joined.values()
    return [group for group in groups if len(group) > 1]


def texts_of(ids: Sequence[str] | pa.Array) -> Iterable[str]:
    """Ids as texts, of Arrow's part by part."""
    if not isinstance(ids, pa.Array):
        return ids
    return (text for first in range(0, len(ids), _AT_ONCE) for text in ids.slice(first, _AT_ONCE).to_pylist())


def _fuller_forms(ids: Sequence[str] | pa.Array) -> dict[str, str]:
    """Ids by what is left of them without other letters than English ones, or a telephone's country."""
    forms = {text.encode("ascii", "replace").decode(): text for text in texts_of(ids) if not text.isascii()}
    forms |= {text.translate(_SPELLED_OUT): text for text in forms.values()}
    abroad = (re.sub("[^0-9]", "", text) for text in texts_of(ids) if _PATTERNS["abroad"].match(text))
    numbers = [digits for text in abroad if _PATTERNS["telephone"].fullmatch(digits := text.lstrip("0"))]
    return forms | {number[code:].lstrip("0"): number for number in numbers for code in (1, 2, 3)}


def _key(text: str, fuller: Mapping[str, str]) -> tuple[str, _Form]:
    """The same text for ids that look alike, and what some may have lost: signs, and accents of letters."""
    key, gaps = _appearance(text if text.isdigit() else fuller.get(text, text))
    has_zero = text.lstrip("(").startswith("0")
    if key in fuller and (has_zero or len(key) >= _TELEPHONE) and _PATTERNS["telephone"].fullmatch(key):
        return fuller[key], ((), ())
    if key.isascii() or len(key) < _FEWEST_LETTERS:
        return key, (gaps, ())
    signs = unicodedata.normalize("NFD", key)
    accents = tuple((position, sign) for position, sign in enumerate(signs) if sign in _ACCENTS)
    bare = "".join(sign for sign in signs if sign not in _ACCENTS)
    return unicodedata.normalize("NFC", bare).translate(_LATIN), (gaps, accents)


def _appearance(text: str) -> tuple[str, _Left]:
    """The same text for ids that differ only as programs make them differ; and where signs were left out."""
    if text.isascii():
        text = text.lower()
        if text.isalnum():
            return ((text.lstrip("0") or "0") if text.isdigit() else text.removeprefix("0x")), ()
        if _PATTERNS["usual"].fullmatch(text):
            return text, ()
    text = _decoded(text)
    text = text.lower().translate(_ASCII_UNSEEN) if text.isascii() else _folded(text).translate(_LATIN)
    text = _PATTERNS["around"].sub("", _PATTERNS["mailbox"].sub(r"\1", text)) or text
    if _PATTERNS["groups"].fullmatch(text):
        text = re.sub("[^0-9+-]", "", text)
    if numbers := _in_numbers(text):
        return numbers, ()
    signs = "".join(filter(str.isalnum, text)).removeprefix("0x")
    if len(signs) < _FEWEST_SIGNS:
        return text, ()
    if _PATTERNS["address"].fullmatch(signs) and not signs.isdigit():
        return signs, ()
    if sum(map(str.isdigit, signs)) < _FEWEST_DIGITS:
        signs = re.sub("[-_+]", "", text)
    gaps = tuple(position for position, sign in enumerate(text) if sign not in signs)
    return (signs.lstrip("0") if signs.isdigit() else signs), gaps


def _in_numbers(text: str) -> str:
    """A number, or an address of a network, in one of the ways in which it is written; else nothing."""
    if _PATTERNS["network"].fullmatch(text):
        with suppress(ValueError):
            address = ip_address(re.sub(r"\b0+(?=[0-9])", "", text))
            return str(getattr(address, "ipv4_mapped", None) or address)
    number = _number(text)
    return f"{_value(number):.{_DECIMALS}f}".rstrip("0").rstrip(".") if number else ""


def _folded(text: str) -> str:
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    with_glyphs = _PATTERNS["no_glyph"].sub("", text)
    visible = (sign for sign in with_glyphs if unicodedata.category(sign) not in _UNSEEN)
    return "".join(str(unicodedata.decimal(sign, sign)) for sign in visible)


def _decoded(text: str) -> str:
    """Escaped text, and UTF-8 that was read as another encoding (JÃ¼rgen), become what they were."""
    if "&" in text:
        text = html.unescape(text)
    if "%" in text:
        text = unquote(text)
    if "\\" in text:
        text = _PATTERNS["escaped"].sub(lambda match: chr(int(match[1] or match[2] or "20", 16)), text)
    for encoding in () if text.isascii() else (*("cp1252", "latin-1") * 2, "mac_roman", "cp850"):
        with suppress(UnicodeError):
            text = text.encode(encoding).decode()
    return text


def _number(text: str) -> re.Match[str] | None:
    match = _PATTERNS["number"].fullmatch(text)
    if match is None or (match[4] and match[3] is None and match[4][0] not in "+-"):
        return None
    return match


def _value(number: re.Match[str]) -> Decimal:
    sign, whole, part, exponent = number.groups()
    return Decimal(f"{sign}{whole}.{part or '0'}e{exponent or 0}")
