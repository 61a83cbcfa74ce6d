"""Entries of forms, and the picker of files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from shoal.io.formats.table import is_known
from shoal.io.sources.named_files import STANDARD_INPUT, files
from shoal.io.sources.servers import is_address
from shoal.local_pages.forms import RefusedError, absolute_path, read_entry


def checked_source(text: str) -> str:
    """An existing path, made absolute, or a database's address, without a password."""
    if not text:
        raise RefusedError("error.no_source")
    if "\n" in text or "\0" in text:
        raise RefusedError("error.signs")
    if is_address(text):
        try:
            address = urlsplit(text.split(maxsplit=1)[0])
            named = [name for name, _ in parse_qsl(address.query, keep_blank_values=True)]
            secret = address.password is not None or any("password" in name.lower() for name in named)
        except ValueError as error:
            raise RefusedError("error.address") from error
        if secret:
            raise RefusedError("error.password")
        if len(text.split()) < 2:
            raise RefusedError("error.no_query")
        return text
    if "://" in text:
        raise RefusedError("error.address")
    if text == STANDARD_INPUT:
        raise RefusedError("error.standard_input")
    path = absolute_path(text)
    try:
        first_file = read_entry(lambda: next(iter(files(path)), None))
        if first_file is not None:
            with first_file.open("rb"):
                pass
    except OSError as error:
        raise RefusedError("error.unreadable", path=text, why=error.strerror or "") from error
    return str(path)


def new_path(text: str, key: str) -> Path:
    """A path for a new file."""
    if not text or "\n" in text or "\0" in text:
        raise RefusedError(key)
    path = absolute_path(text)
    try:
        in_use = path.exists() or path.is_symlink()
        parent = next(folder for folder in path.parents if folder.exists())
    except OSError as error:
        raise RefusedError("error.unwritable", path=text, why=error.strerror or "") from error
    if in_use:
        raise RefusedError("error.taken", path=path)
    if not parent.is_dir():
        raise RefusedError("error.not_a_folder", path=parent)
    return path


_MOST: Final = 400  # of what a folder holds


@dataclass(frozen=True, kw_only=True)
class FolderEntry:
    """A folder, or a file that shoal reads."""

    name: str
    path: str
    is_folder: bool
    size: int


@dataclass(frozen=True, kw_only=True)
class Folder:
    """A folder's content. left_out: entries not shown."""

    path: str
    above: str | None
    places: tuple[FolderEntry, ...]
    left_out: int


def folder_at(text: str) -> Folder:
    """A folder here, by default the home folder."""
    path = absolute_path(text) if text else Path.home()
    try:
        path = path.resolve()
        entries = sorted(path.iterdir(), key=lambda entry: (not entry.is_dir(), entry.name.lower()))
    except (OSError, ValueError) as error:
        raise RefusedError("error.folder", path=text) from error
    readable = [
        entry for entry in entries if not entry.name.startswith(".") and (entry.is_dir() or is_known(entry))
    ]
    return Folder(
        path=str(path),
        above=str(path.parent) if path.parent != path else None,
        places=tuple(_place(entry) for entry in readable[:_MOST]),
        left_out=max(0, len(readable) - _MOST),
    )


def _place(path: Path) -> FolderEntry:
    try:
        size = path.stat().st_size
    except OSError:
        size = 0
    return FolderEntry(name=path.name, path=str(path), is_folder=path.is_dir(), size=size)
