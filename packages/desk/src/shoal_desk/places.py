"""Picking a file of this machine: the folders, and in each the files that shoal reads."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shoal.io.formats.table import ARCHIVE, FORMATS
from shoal.local_pages.forms import RefusedError, absolute_path

_MOST: Final = 400  # of what a folder holds


@dataclass(frozen=True, kw_only=True)
class Place:
    """A folder, or a file that shoal reads."""

    name: str
    path: str
    is_folder: bool
    size: int


@dataclass(frozen=True, kw_only=True)
class Folder:
    """What a folder holds. above: the folder around it; left_out: how much is not shown."""

    path: str
    above: str | None
    places: tuple[Place, ...]
    left_out: int


def folder_at(text: str) -> Folder:
    """A folder of this machine, the home folder for no text; raises RefusedError when it cannot be read."""
    path = absolute_path(text) if text else Path.home()
    try:
        path = path.resolve()
        found = sorted(path.iterdir(), key=lambda one: (not one.is_dir(), one.name.lower()))
    except (OSError, ValueError) as error:
        raise RefusedError("error.folder", path=text) from error
    shown = [one for one in found if not one.name.startswith(".") and (one.is_dir() or _readable(one))]
    return Folder(
        path=str(path),
        above=str(path.parent) if path.parent != path else None,
        places=tuple(_place(one) for one in shown[:_MOST]),
        left_out=max(0, len(shown) - _MOST),
    )


def _readable(path: Path) -> bool:
    name = path.name.lower()
    return any(name.endswith(ending) for ending in (*FORMATS, ARCHIVE))


def _place(path: Path) -> Place:
    try:
        size = path.stat().st_size
    except OSError:
        size = 0
    return Place(name=path.name, path=str(path), is_folder=path.is_dir(), size=size)
