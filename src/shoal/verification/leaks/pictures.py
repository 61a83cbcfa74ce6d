"""What the pictures in a page say beside their dots: comments, programs, cameras, bytes behind the end."""

import base64
import re
import struct
import zlib
from collections.abc import Iterator
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
