"""Values of JSON as text, and lists object by object.

Python's own decoder accepts NaN and long integers, which other programs write.
"""

import codecs
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final

from shoal.errors import InputError
from shoal.io.formats.xml_files import BROKEN_GZIP, open_bytes


def text_of(value: Any) -> str | None:
    """A value of JSON as text; None stays None."""
    if value is None or isinstance(value, str):
        return value
    return (
        repr(value) if isinstance(value, int | float) and not isinstance(value, bool) else json.dumps(value)
    )


def flat(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Values by name, inner ones as ``outer.inner``."""
    values: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            values.update(flat(value, f"{prefix}{name}."))
        else:
            values[f"{prefix}{name}"] = value
    return values


_BLOCK_BYTES: Final = 1 << 20
_BLANKS: Final = " \t\r\n"


def begins_as_list(path: Path) -> bool:
    """Whether a file opens with a list."""
    try:
        with open_bytes(path) as file:
            return file.read(4096).removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"["
    except BROKEN_GZIP:
        return False


def begins_with_whole_line(path: Path) -> bool:
    """Whether the first line of a file is an object."""
    with suppress(ValueError, *BROKEN_GZIP), open_bytes(path) as file:
        return isinstance(json.loads(file.readline()), dict)
    return False


def objects(path: Path) -> Iterator[Any]:
    """The members of the list, one at a time."""
    decoder = json.JSONDecoder()
    try:
        with open_bytes(path) as file:
            reader = codecs.getreader("utf-8-sig")(file)
            text = reader.read(_BLOCK_BYTES).lstrip(_BLANKS)
            place, last = 1, False  # behind the bracket
            while True:
                while place < len(text) and text[place] in _BLANKS + ",":
                    place += 1
                if place < len(text) and text[place] == "]":
                    _require_end(text[place + 1 :] + reader.read())
                    return
                try:
                    member, end = decoder.raw_decode(text, place)
                    if end == len(text) and not last:  # a number may go on in the next block
                        raise ValueError("perhaps cut")
                except ValueError:
                    if last:
                        raise
                    block = reader.read(_BLOCK_BYTES)
                    last = not block
                    text, place = text[place:] + block, 0
                    continue
                place = end
                yield member
    except (ValueError, RecursionError, *BROKEN_GZIP) as error:
        raise InputError(f"{path.name} is not whole JSON; it may be cut off: copy it again") from error


def first_members(path: Path, most: int) -> list[Any]:
    """The first members of the list."""
    return list(islice(objects(path), most))


def _require_end(rest: str) -> None:
    if rest.strip(_BLANKS):
        raise ValueError("more behind the list")
