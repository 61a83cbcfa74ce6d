"""XML files, read piece by piece, safely."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, cast
from xml.etree import ElementTree
from xml.parsers import expat

from shoal.errors import InputError
from shoal.io.formats.row_files import explain_damage, open_bytes

_BLOCK_BYTES: Final = 1 << 18
Element = ElementTree.Element


def iterate_elements(path: Path, root_name: str, format_name: str) -> Iterator[tuple[str, Element]]:
    """Name and element, at the end of every element; the caller clears them.

    A file that declares entities is refused.
    """
    parser: ElementTree.XMLPullParser[Element] = ElementTree.XMLPullParser(["start", "end"])
    root: Element | None = None
    guard = _guard_of(path.name, format_name)
    damaged = f"{path.name} is not a whole {format_name} file; it may be cut off: copy it again"
    errors = (ElementTree.ParseError, LookupError, ValueError)  # LookupError: of an unknown encoding
    with explain_damage(damaged, *errors), open_bytes(path) as file:
        first = True
        while block := file.read(_BLOCK_BYTES):
            if first:  # some programs write blanks before the declaration
                block, first = block.lstrip(), False
            guard(block)
            parser.feed(block)
            for event, element in cast("Iterator[tuple[str, Element]]", parser.read_events()):
                tag = str(element.tag).rpartition("}")[2]
                if root is None:
                    root = element
                    if tag != root_name:
                        raise InputError(f"{path.name} is XML, but no {format_name}: it begins with <{tag}>")
                if event == "end":
                    yield tag, element
        parser.close()


def _guard_of(name: str, format_name: str) -> Callable[[bytes], None]:
    """Takes the blocks of a file; raises InputError for a document type, which may declare entities."""
    parser, over = expat.ParserCreate(), False

    def refuse(*_: object) -> None:
        raise InputError(f"{name} declares XML entities, which no {format_name} file needs; it is not read")

    def stop(*_: object) -> None:
        raise ValueError("the first element")

    def guard(block: bytes) -> None:
        nonlocal over
        if not over:
            try:
                parser.Parse(block, False)
            except (expat.ExpatError, ValueError, LookupError):
                over = True  # what is wrong with the file is told by its reader

    parser.StartDoctypeDeclHandler, parser.StartElementHandler = refuse, stop
    return guard


def children(element: Element, name: str) -> Iterator[Element]:
    """Those of a name, in any namespace or none."""
    return (child for child in element if str(child.tag).rpartition("}")[2] == name)


def child_text(element: Element, name: str) -> str:
    """The text of the first such child; empty without one."""
    return next((child.text or "" for child in children(element, name)), "").strip()
