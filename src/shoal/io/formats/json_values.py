"""Values of JSON as text, and lists object by object.

Python's own decoder accepts NaN and long integers, which other programs write.
"""

import codecs
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from shoal.io.formats.row_files import explain_damage, open_bytes

_BLOCK_BYTES: Final = 1 << 20
_BLANKS: Final = " \t\r\n"

Content = tuple[list[str], Sequence[Sequence[Any]], list[str]]  # names of columns, rows of values, notes


def text_of(value: Any) -> str | None:
    """A value of JSON as text; None stays None."""
    if value is None or isinstance(value, str):
        return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return repr(value) if is_number else json.dumps(value)


def flat(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Values by name, inner ones as ``outer.inner``."""
    values: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            values.update(flat(value, f"{prefix}{name}."))
        else:
            values[f"{prefix}{name}"] = value
    return values


def records(value: Any) -> list[dict[str, Any]]:
    """The members of a list, empty for those that are no object; none of another value."""
    return [one if isinstance(one, dict) else {} for one in value] if isinstance(value, list) else []


def object_in(text: str | bytes) -> dict[str, Any] | None:
    """The object that a text writes, None for another text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def members(path: Path) -> Iterator[Any]:
    """The members of the list, one at a time."""
    decoder = json.JSONDecoder()
    damaged = f"{path.name} is not whole JSON; it may be cut off: copy it again"
    with explain_damage(damaged, ValueError, RecursionError), open_bytes(path) as file:
        reader = codecs.getreader("utf-8-sig")(file)
        text = reader.read(_BLOCK_BYTES).lstrip(_BLANKS)
        place, last = 1, False  # behind the bracket
        while True:
            while place < len(text) and text[place] in _BLANKS + ",":
                place += 1
            if place < len(text) and text[place] == "]":
                if (text[place + 1 :] + reader.read()).strip(_BLANKS):
                    raise ValueError("more behind the list")
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
