"""Uploaded files, in a private folder only while they are read."""

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
    """A form's files with names."""
    head = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1", "replace")
    message = BytesParser(policy=HTTP).parsebytes(head + body)
    if message.get_content_type() != "multipart/form-data" or not message.is_multipart():
        raise InputError("this form brings no file; choose one")
    files = []
    for part in message.iter_parts():
        name = part.get_filename()
        content = part.get_payload(decode=True)
        if name and isinstance(content, bytes) and content:
            files.append((name, content))
    if not files:
        raise InputError("choose a file that holds something")
    if len(files) > _MOST_FILES:
        raise InputError(f"{len(files)} files at once; {_MOST_FILES} at most, or a .zip of them")
    return files


def ending_of(name: str) -> str:
    """The ending, of a known format."""
    small = name.lower()
    ending = max((suffix for suffix in (*FORMATS, ARCHIVE) if small.endswith(suffix)), key=len, default=None)
    if ending is None:
        raise InputError(
            "a file of a kind that shoal does not read; take GPX, GeoLife (.plt), Google Timeline (.json) or "
            "OwnTracks (.rec)"
        )
    return ending


def _stem(name: str, ending: str) -> str:
    """Only letters and digits: it may name a person."""
    return _OTHERS.sub("_", name[: -len(ending)])[-_LONGEST:].lstrip("_") or "file"


def clear_away(folder: Path) -> None:
    """Delete raw points of a killed app."""
    for remnant in folder.glob(f"{_READING}*"):
        shutil.rmtree(remnant, ignore_errors=True)


@contextmanager
def on_disk(files: list[tuple[str, bytes]], folder: Path) -> Iterator[Path]:
    """Yield one file, or a folder with all; deleted at the end."""
    endings = [ending_of(name) for name, _ in files]
    with tempfile.TemporaryDirectory(prefix=_READING, dir=folder) as place:
        paths = []
        for ending, (name, content) in zip(endings, files, strict=True):
            path = Path(place) / f"{_stem(name, ending)}{ending}"
            while path in paths:
                path = path.with_name(f"again-{path.name}")
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
                stream.write(content)
            paths.append(path)
        yield paths[0] if len(paths) == 1 else Path(place)
