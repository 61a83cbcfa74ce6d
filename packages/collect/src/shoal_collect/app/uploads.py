"""Files that a browser brings: read from a form in memory, kept in a folder of their own until they are read.

Raw points are on the disk for the moment of reading alone, and for their owner alone.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from email.parser import BytesParser
from email.policy import HTTP
from pathlib import Path
from typing import Final

from shoal.errors import InputError
from shoal.io.formats.table import ARCHIVE, FORMATS

MOST_BYTES: Final = 64 << 20
_MOST_FILES: Final = 500
_LONGEST: Final = 60
_READING: Final = "reading-"
_OTHERS: Final = re.compile(r"[^\w-]+")


def files_in(content_type: str, body: bytes) -> list[tuple[str, bytes]]:
    """Return the files of a form, each with the name that the browser gives it.

    Raises
    ------
    InputError
        If the body is no form with files, or holds none.
    """
    head = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1", "replace")
    message = BytesParser(policy=HTTP).parsebytes(head + body)
    if message.get_content_type() != "multipart/form-data" or not message.is_multipart():
        raise InputError("this form brings no file; choose one")
    found = []
    for part in message.iter_parts():
        name = part.get_filename()
        content = part.get_payload(decode=True)
        if name and isinstance(content, bytes) and content:
            found.append((name, content))
    if not found:
        raise InputError("choose a file that holds something")
    if len(found) > _MOST_FILES:
        raise InputError(f"{len(found)} files at once; {_MOST_FILES} at most, or a .zip of them")
    return found


def ending_of(name: str) -> str:
    """Return the ending by which a file is read; raise InputError for one that shoal does not read."""
    small = name.lower()
    found = max((one for one in (*FORMATS, ARCHIVE) if small.endswith(one)), key=len, default=None)
    if found is None:
        raise InputError(
            "a file of a kind that shoal does not read; take GPX, GeoLife (.plt), Google Timeline (.json) or "
            "OwnTracks (.rec)"
        )
    return found


def _stem(name: str, ending: str) -> str:
    """The name of a file without its ending, as far as it is letters and digits: it may name a person."""
    return _OTHERS.sub("_", name[: -len(ending)])[-_LONGEST:].lstrip("_") or "file"


def clear_away(folder: Path) -> None:
    """Delete raw points that an app left in the folder when it was killed while it read them."""
    for left in folder.glob(f"{_READING}*"):
        shutil.rmtree(left, ignore_errors=True)


@contextmanager
def on_disk(found: list[tuple[str, bytes]], folder: Path) -> Iterator[Path]:
    """Give files to a reader: one file, or a folder with all of them; gone at the end."""
    endings = [ending_of(name) for name, _ in found]
    with tempfile.TemporaryDirectory(prefix=_READING, dir=folder) as place:
        paths = []
        for ending, (name, content) in zip(endings, found, strict=True):
            path = Path(place) / f"{_stem(name, ending)}{ending}"
            while path in paths:
                path = path.with_name(f"again-{path.name}")
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
                stream.write(content)
            paths.append(path)
        yield paths[0] if len(paths) == 1 else Path(place)
