"""Find private names in names and in running text, pages and pictures included.

Short numbers and ordinary words occur in any text: there, only *distinctive* names count.
"""

import base64
import html
import re
import struct
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

_EMBEDDED: Final = re.compile(r"data:[^,\"'<>\s]{0,200};base64,([A-Za-z0-9+/_=\s%-]+)", re.IGNORECASE)
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_PNG_DOTS: Final = frozenset({b"IDAT", b"PLTE", b"fdAT"})
_JPEG: Final = b"\xff\xd8"
_JPEG_DOTS: Final = 0xDA
_JPEG_TABLES: Final = frozenset({*range(0xC0, 0xD0), 0xDB, 0xDD})  # tables for unpacking pixels
_JPEG_END: Final = b"\xff\xd9"
_MOST_UNPACKED: Final = 1 << 20
# words of movement data, drawings and typefaces that a report may hold without naming a person
_ORDINARY: Final = frozenset(
    (  # noqa: SIM905  (a list would take a line for each word)
        "analysis anonymized anonymity anonymous computer container developer document generalized "
        "identifier identifiers localhost mobility notebook original passenger passengers pseudonym "
        "pseudonyms publisher recorded research suppressed synthetic trajectories trajectory bottom crowds "
        "family inside legend losses margin middle numbers opacity outline outside raster reference region "
        "robots scroll summary verdict visible arial courier georgia tahoma verdana roboto ubuntu traveller "
        "travellers unlinked untitled workstation"
    ).split()
)
_RUN: Final = re.compile(r"[^\W_]+")
_ENCLOSED: Final = re.compile(r"""(?<=["'>])([^\W\d_]{6,7})(?=["'<])""")
_HEX: Final = re.compile(r"[0-9a-f]+")
_UNICODE_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))")
_WITHIN_WORDS: Final = re.compile(
    r"(?<=[\w-])(?:<!--[^<>]{0,200}-->|</?(?:a|abbr|b|big|em|font|i|mark|s|small|span|strong|sub|sup|u|wbr)\b[^<>]{0,200}>)+"
    r"(?=[\w-])"
)
_BLANK_ESCAPE: Final = re.compile(r"\\[nrt\"']")
_ENCODED_BYTES: Final = re.compile(r"\bsha(?:256|384|512)-[A-Za-z0-9+/]{43,}={0,2}|[A-Za-z0-9+/]{80,}={0,2}")


def is_distinctive(name: str) -> bool:
    """Whether a name has 6 letters and digits, 8 letters, or 9 digits: rare by chance."""
    letters = sum(map(str.isalpha, name))
    digits = sum(map(str.isdigit, name))
    if letters == 0:
        return digits >= 9
    if digits:
        return letters + digits >= 6
    return letters >= 8 and name.casefold() not in _ORDINARY


@dataclass(frozen=True, eq=False, repr=False)
class Names:
    """Names to search for: all whole; distinctive ones by runs of letters and digits."""

    whole: frozenset[str]
    distinctive: Mapping[int, frozenset[str]]
    enclosed: frozenset[str]  # six or seven letters, which count only as a whole quotation or element

    @classmethod
    def of(cls, names: Iterable[str]) -> "Names":
        """Prepare these names."""
        whole = frozenset(name for name in names if name)
        distinctive: dict[int, set[str]] = {}
        for name in whole:
            if is_distinctive(name):
                folded = name.casefold()
                runs = list(_RUN.finditer(folded))
                distinctive.setdefault(len(runs), set()).add(folded[runs[0].start() : runs[-1].end()])
        folded_words = (name.casefold() for name in whole if len(name) in {6, 7} and name.isalpha())
        return cls(
            whole,
            {runs: frozenset(texts) for runs, texts in distinctive.items()},
            frozenset(folded_words) - _ORDINARY,
        )

    def in_text(self, text: str) -> int:
        """Count the different distinctive or enclosed names in a text, as whole words."""
        folded = text.casefold()
        if folded.isalnum():  # one word, and no quotation or element
            return int(folded in self.distinctive.get(1, ()))
        hits: set[str] = set()
        spans = [run.span() for run in _RUN.finditer(folded)] if self.distinctive else []
        for n_runs, group in self.distinctive.items():
            for first, last in zip(spans, spans[n_runs - 1 :], strict=False):
                text_here = folded[first[0] : last[1]]
                if text_here in group and not _is_part_of_number(folded, first[0], last[1]):
                    hits.add(text_here)
        if self.enclosed:
            hits.update(match[1] for match in _ENCLOSED.finditer(folded) if match[1] in self.enclosed)
        return len(hits)


def searchable_text(text: str) -> str:
    """Text of HTML, JSON or scripts without escapes, and what readers do not see."""
    text = _UNICODE_ESCAPE.sub(lambda match: chr(int(match[1] or match[2], 16)), html.unescape(text))
    if not text.isascii():
        unseen = {ord(character): None for character in set(text) if unicodedata.category(character) == "Cf"}
        text = unicodedata.normalize("NFKC", text.translate(unseen))
    text = _WITHIN_WORDS.sub("", text)
    text = _BLANK_ESCAPE.sub(" ", text).replace("\\/", "/")
    return _ENCODED_BYTES.sub(lambda match: match[0] if _HEX.fullmatch(match[0].lower()) else " ", text)


def _is_part_of_number(text: str, start: int, end: int) -> bool:
    """Any digits occur by chance in fractions and colors."""
    before, after = text[start - 1 : start], text[end : end + 2]
    if before == "#":
        return end - start in {6, 8} and _HEX.fullmatch(text, start, end) is not None
    only_digits = not any(character.isalpha() for character in text[start:end])
    return only_digits and (before == "." or (after[:1] == "." and after[1:].isdigit()))


def picture_text(page: str) -> str:
    """Text in a page's pictures, apart from pixels; other formats than PNG and JPEG whole."""
    return "\n".join(
        part.replace(b"\0", b" ").decode("utf-8", "ignore")
        for match in _EMBEDDED.finditer(page)
        for part in _parts(_bytes(match[1]))
    )


def _bytes(text: str) -> bytes:
    """A lone sign of a group of four holds no byte."""
    signs = re.sub(r"[^A-Za-z0-9+/]", "", unquote(text).replace("-", "+").replace("_", "/"))
    whole = len(signs) - (len(signs) % 4 == 1)
    return base64.b64decode(signs[:whole] + "=" * (-whole % 4))


def _parts(picture: bytes) -> Iterator[bytes]:
    if picture.startswith(_PNG):
        yield from _png_bytes_without_pixels(picture)
    elif picture.startswith(_JPEG):
        yield from _of_jpeg(picture)
    else:
        yield picture


def _png_bytes_without_pixels(picture: bytes) -> Iterator[bytes]:
    at = len(_PNG)
    while at + 12 <= len(picture):
        length, kind = struct.unpack_from(">I4s", picture, at)
        content = picture[at + 8 : at + 8 + length]
        at += 12 + length
        if kind not in _PNG_DOTS:
            yield content
            yield from _unpacked(content)
        if kind == b"IEND":
            break
    yield picture[at:]


def _unpacked(content: bytes) -> Iterator[bytes]:
    for zero in re.finditer(b"\0", content[:400]):
        packed = content[zero.end() :]
        if packed[:1] == b"\x78" or packed[1:2] == b"\x78":
            for text in (packed, packed[1:]):
                try:
                    yield zlib.decompressobj().decompress(text, _MOST_UNPACKED)
                except zlib.error:
                    continue


def _of_jpeg(picture: bytes) -> Iterator[bytes]:
    """Segments before the pixels, without tables (they hold runs like 456789), and bytes after the end."""
    at = len(_JPEG)
    while at + 4 <= len(picture) and picture[at] == 0xFF and picture[at + 1] != _JPEG_DOTS:
        length = struct.unpack_from(">H", picture, at + 2)[0]
        if picture[at + 1] not in _JPEG_TABLES:
            yield picture[at + 4 : at + 2 + length]
        at += 2 + max(2, length)
    end = picture.rfind(_JPEG_END)
    yield picture[end + 2 :] if end >= at else picture[at:]
