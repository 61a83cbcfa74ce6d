"""The table of a release as several files, for readers that want some, and put together again.

Each holds whole groups of the table's rows as they are, so the same table always makes the same files, and
they make the same table. Memory: one of them.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from shoal.errors import InputError
from shoal.release_folder.joining import MAGIC, join_files, pieces_of

GROUPS_PER_PART: Final = 4  # some four million rows
_NO_FILE: Final = (IndexError, KeyError, TypeError, ValueError, OverflowError, AttributeError, AssertionError)


def split_table(table: Path, folder: Path) -> None:
    """Write the parts of a table into a new folder.

    Raises InputError for a file that is no Parquet.
    """
    folder.mkdir()
    for name, content in _parts_of(table):
        (folder / name).write_bytes(content)


def join_table(folder: Path, table: Path) -> list[str]:
    """Write the table that the parts in a folder make; returns the names of files that are none of its parts.

    Those hold something else than the rows, or groups that do not stand together. Raises InputError when
    there are no parts, or they do not make a table.
    """
    parts = sorted(folder.glob("part-*.parquet"))
    if not parts:
        raise InputError(f"{folder} holds no part of a table; fetch or write it again")
    try:
        with table.open("wb") as target:
            join_files(parts, target, {})
    except (*_NO_FILE, RecursionError, MemoryError, struct.error) as error:
        raise _no_parts(folder) from error
    right = {name for name, content in _parts_of(table) if _same(folder / name, content)}
    return sorted(path.name for path in folder.iterdir() if path.name not in right)


def _parts_of(table: Path) -> Iterator[tuple[str, bytes]]:
    """The name and the content of each part."""
    try:
        with table.open("rb") as file:
            for number, piece in enumerate(pieces_of(table, GROUPS_PER_PART)):
                file.seek(piece.begin)
                yield f"part-{number:05}.parquet", MAGIC + file.read(piece.end - piece.begin) + piece.tail
    except (*_NO_FILE, RecursionError, MemoryError, struct.error) as error:
        raise _no_parts(table) from error


def _same(path: Path, content: bytes) -> bool:
    return path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content


def _no_parts(path: Path) -> InputError:
    return InputError(f"{path} is not the table of a release; fetch or write it again")
