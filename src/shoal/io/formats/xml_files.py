"""XML files, read piece by piece, safely."""

import gzip
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final, cast
from xml.etree import ElementTree
from xml.parsers import expat

from shoal.errors import InputError

# what reading a packed file raises where it is damaged or cut
BROKEN_GZIP: Final = (gzip.BadGzipFile, EOFError, zlib.error)
# what zipfile raises for damage, an unknown compression, a missing password and an early end
BROKEN_ARCHIVE: Final = (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error)
_BLOCK_BYTES: Final = 1 << 18
Element = ElementTree.Element


def iterate_elements(path: Path, root_name: str, format_name: str) -> Iterator[tuple[str, Element]]:
    """Name and element, at the end of every element; the caller clears them.

    A file that declares entities is refused.
    """
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty")
    parser: ElementTree.XMLPullParser[Element] = ElementTree.XMLPullParser(["start", "end"])
    root: Element | None = None
    prolog = Prolog()
    try:
        with open_bytes(path) as file:
            first = True
            while block := file.read(_BLOCK_BYTES):
                if first:  # some programs write blanks before the declaration
                    block, first = block.lstrip(), False
                if prolog.declares(block):
                    raise InputError(
                        f"{path.name} declares XML entities, which no {format_name} file needs; it is not "
                        "read"
                    )
                parser.feed(block)
                for event, element in cast("Iterator[tuple[str, Element]]", parser.read_events()):
                    tag = str(element.tag).rpartition("}")[2]
                    if root is None:
                        root = element
                        if tag != root_name:
                            raise InputError(
                                f"{path.name} is XML, but no {format_name}: it begins with <{tag}>"
                            )
                    if event == "end":
                        yield tag, element
        parser.close()
    except (ElementTree.ParseError, LookupError, ValueError, *BROKEN_GZIP) as error:  # LookupError: encodings
        raise InputError(
            f"{path.name} is not a whole {format_name} file; it may be cut off: copy it again"
        ) from error


class Prolog:
    """The content before the first element; only there are entities declared."""

    def __init__(self) -> None:
        self._parser = expat.ParserCreate()
        self._over = self._found = False
        self._parser.StartDoctypeDeclHandler = self._on_doctype
        self._parser.StartElementHandler = self._on_element

    def declares(self, block: bytes) -> bool:
        """Whether a document type is declared, which may hold entities."""
        if not self._over:
            try:
                self._parser.Parse(block, False)
            except _PrologEnd:
                self._over = True
            except (expat.ExpatError, ValueError, LookupError):
                self._over = True  # whoever reads the file says what is wrong
        return self._found

    def _on_doctype(self, *_: object) -> None:
        self._found = True
        raise _PrologEnd

    def _on_element(self, *_: object) -> None:
        raise _PrologEnd


class _PrologEnd(Exception):  # noqa: N818  (no error: enough has been read)
    pass


def open_bytes(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked if it ends in .gz."""
    return cast("IO[bytes]", gzip.open(path)) if path.name.lower().endswith(".gz") else path.open("rb")


def child_text(element: Element, name: str) -> str:
    """The text of the first such child; empty without one."""
    for child in element:
        if str(child.tag).rpartition("}")[2] == name:
            return (child.text or "").strip()
    return ""
