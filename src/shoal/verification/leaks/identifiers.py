"""Raw identifiers, and other names that must not be published, in names and in running text.

Identifiers may be short numbers or ordinary words, which stand in any text by chance. So a whole name (a
pseudonym, a cell of a table) is compared with every identifier, and running text is searched for *telling*
ones only; see docs/verification.md.
"""

import base64
import html
import re
import struct
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from urllib.parse import unquote

_EMBEDDED: Final = re.compile(r"data:[^,\"'<>\s]{0,200};base64,([A-Za-z0-9+/_=\s%-]+)", re.IGNORECASE)
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_PNG_DOTS: Final = frozenset({b"IDAT", b"PLTE", b"fdAT"})
_JPEG: Final = b"\xff\xd8"
_JPEG_DOTS: Final = 0xDA
_JPEG_TABLES: Final = frozenset({*range(0xC0, 0xD0), 0xDB, 0xDD})  # how dots are packed
_JPEG_END: Final = b"\xff\xd9"
_MOST_UNPACKED: Final = 1 << 20
# words of movement data, of drawings and of typefaces, which a report may hold without naming anybody
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


def is_telling(name: str) -> bool:
    """Whether a name in running text is hardly there by chance.

    That takes 6 characters of letters and digits, 8 letters alone, or 9 digits alone.
    """
    letters = sum(map(str.isalpha, name))
    digits = sum(map(str.isdigit, name))
    if letters == 0:
        return digits >= 9
    if digits:
        return letters + digits >= 6
    return letters >= 8 and name.casefold() not in _ORDINARY


@dataclass(frozen=True, eq=False, repr=False)
class Names:
    """Names to look for.

    whole: all of them. telling: the telling ones, folded to lower case, by their number of runs of letters
    and digits. enclosed: single words of six or seven letters, which count in a text only where they fill a
    quotation or an element.
    """

    whole: frozenset[str]
    telling: Mapping[int, frozenset[str]]
    enclosed: frozenset[str]

    @classmethod
    def of(cls, names: Iterable[str]) -> "Names":
        """These names, prepared for searching."""
        whole = frozenset(name for name in names if name)
        telling: dict[int, set[str]] = {}
        for name in whole:
            if is_telling(name):
                folded = name.casefold()
                runs = list(_RUN.finditer(folded))
                telling.setdefault(len(runs), set()).add(folded[runs[0].start() : runs[-1].end()])
        folded_words = (name.casefold() for name in whole if len(name) in {6, 7} and name.isalpha())
        return cls(
            whole,
            {runs: frozenset(found) for runs, found in telling.items()},
            frozenset(folded_words) - _ORDINARY,
        )

    @cached_property
    def _first_runs(self) -> Mapping[int, frozenset[str]]:
        """The first run of every telling name, by the number of its runs."""
        return {
            n_runs: frozenset(_RUN.findall(name)[0] for name in wanted)
            for n_runs, wanted in self.telling.items()
        }

    def in_text(self, text: str) -> int:
        """How many different telling or enclosed names stand in a text, each as whole words.

        The text is read once for each number of runs, whatever the number of names; not at all where no word
        of it begins any.
        """
        folded = text.casefold()
        if folded.isalnum():  # one word, and no quotation or element
            return int(folded in self.telling.get(1, ()))
        found: set[str] = set()
        words = frozenset(_RUN.findall(folded))
        possible = {
            n_runs: wanted
            for n_runs, wanted in self.telling.items()
            if not words.isdisjoint(self._first_runs[n_runs])
        }
        spans = [run.span() for run in _RUN.finditer(folded)] if possible else []
        for n_runs, wanted in possible.items():
            for first, last in zip(spans, spans[n_runs - 1 :], strict=False):
                here = folded[first[0] : last[1]]
                if here in wanted and here not in found and not _is_part_of_number(folded, first[0], last[1]):
                    found.add(here)
        if self.enclosed:
            found.update(match[1] for match in _ENCLOSED.finditer(folded) if match[1] in self.enclosed)
        return len(found)


def plain(text: str) -> str:
    """Text of HTML, JSON or scripts, escapes undone and encoded bytes removed, ready to be searched.

    What readers do not see is taken away: signs without width, the form of letters, tags within a word.
    """
    text = _UNICODE_ESCAPE.sub(lambda match: chr(int(match[1] or match[2], 16)), html.unescape(text))
    if not text.isascii():
        unseen = {ord(each): None for each in set(text) if unicodedata.category(each) == "Cf"}
        text = unicodedata.normalize("NFKC", text.translate(unseen))
    text = _WITHIN_WORDS.sub("", text)
    text = _BLANK_ESCAPE.sub(" ", text).replace("\\/", "/")
    return _ENCODED_BYTES.sub(lambda match: match[0] if _HEX.fullmatch(match[0].lower()) else " ", text)


def _is_part_of_number(text: str, start: int, end: int) -> bool:
    """Whether digits here are a piece of a decimal fraction or a color, where any digits occur by chance."""
    before, after = text[start - 1 : start], text[end : end + 2]
    if before == "#":
        return end - start in {6, 8} and _HEX.fullmatch(text, start, end) is not None
    only_digits = not any(character.isalpha() for character in text[start:end])
    return only_digits and (before == "." or (after[:1] == "." and after[1:].isdigit()))


def words_of_pictures(page: str) -> str:
    """All that pictures in a page's addresses hold beside their dots, as running text.

    Dots are left out, since letters stand in them by chance. What is no PNG and no JPEG is taken whole.
    """
    return "\n".join(
        part.replace(b"\0", b" ").decode("utf-8", "ignore")
        for match in _EMBEDDED.finditer(page)
        for part in _parts(_bytes(match[1]))
    )


def _bytes(text: str) -> bytes:
    """What a text in base64 stands for; of a group of four, a sign on its own holds no byte."""
    signs = re.sub(r"[^A-Za-z0-9+/]", "", unquote(text).replace("-", "+").replace("_", "/"))
    whole = len(signs) - (len(signs) % 4 == 1)
    return base64.b64decode(signs[:whole] + "=" * (-whole % 4))


def _parts(picture: bytes) -> Iterator[bytes]:
    if picture.startswith(_PNG):
        yield from _of_png(picture)
    elif picture.startswith(_JPEG):
        yield from _of_jpeg(picture)
    else:
        yield picture


def _of_png(picture: bytes) -> Iterator[bytes]:
    """Each chunk that holds no dots, with what is packed in it; and what stands behind the last."""
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
    """A text that a chunk holds packed: behind its key, or behind its language (zTXt, iTXt, iCCP)."""
    for zero in re.finditer(b"\0", content[:400]):
        packed = content[zero.end() :]
        if packed[:1] == b"\x78" or packed[1:2] == b"\x78":
            for text in (packed, packed[1:]):
                try:
                    yield zlib.decompressobj().decompress(text, _MOST_UNPACKED)
                except zlib.error:
                    continue


def _of_jpeg(picture: bytes) -> Iterator[bytes]:
    """Segments before the dots, without tables, which hold runs like 456789; and what is behind the end."""
    at = len(_JPEG)
    while at + 4 <= len(picture) and picture[at] == 0xFF and picture[at + 1] != _JPEG_DOTS:
        length = struct.unpack_from(">H", picture, at + 2)[0]
        if picture[at + 1] not in _JPEG_TABLES:
            yield picture[at + 4 : at + 2 + length]
        at += 2 + max(2, length)
    end = picture.rfind(_JPEG_END)
    yield picture[end + 2 :] if end >= at else picture[at:]
