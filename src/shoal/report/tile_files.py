"""Raster tiles in an MBTiles file.

Only the drawing is passed on, without notes (places, times, programs).
"""

import html
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from shoal.errors import InputError
from shoal.io.formats.row_files import explain_damage
from shoal.runtime.argument_types import typed

MOST_ZOOM: Final = 24
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_JPEG: Final = b"\xff\xd8\xff"
_DRAWN_BY_PNG: Final = frozenset((b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"))
_JPEG_START, _JPEG_END = 0xDA, b"\xff\xd9"
_NOTES_OF_JPEG: Final = frozenset((*range(0xE1, 0xEE), 0xEF, 0xFE))  # EXIF, XMP, comments ...; not E0, EE
_VECTOR: Final = (b"\x1f\x8b", b"\x1a")  # packed, or the first field of a vector tile
_TAG: Final = re.compile(r"<[^<>]*>")
_LONGEST_CREDIT: Final = 300
_STEPS: Final = 10_000_000  # of SQLite's machine, for one question; a rectangle takes some thousands

Square = tuple[int, int]  # column and row, from the north-west


@dataclass(frozen=True, kw_only=True)
class TileFile:
    """An MBTiles file with pictures.

    Parameters
    ----------
    path
        The file.
    zooms
        Its zooms, ascending.
    credit
        Whose pictures they are, in plain text.
    """

    path: Path
    zooms: tuple[int, ...]
    credit: str

    def sizes(self, zoom: int, west: int, north: int, east: int, south: int) -> dict[Square, int]:
        """The bytes of each tile, of columns west to east and rows north to south."""
        top = 2**zoom - 1  # rows of the file count from the south
        with _opened(self.path) as file:
            rows = file.execute(
                "SELECT tile_column, tile_row, length(tile_data) FROM tiles WHERE zoom_level = ? "
                "AND tile_column BETWEEN ? AND ? AND tile_row BETWEEN ? AND ?",
                (zoom, west, east, top - south, top - north),
            ).fetchall()
        return {(int(column), top - int(row)): int(size or 0) for column, row, size in rows}

    def pictures(self, zoom: int, squares: list[Square]) -> Mapping[Square, tuple[str, bytes]]:
        """(media type, drawing) of each tile."""
        top = 2**zoom - 1
        with _opened(self.path) as file:
            data = {(column, row): _data(file, zoom, column, top - row) for column, row in squares}
        return {square: _picture(some, self.path) for square, some in data.items()}


@typed
def read_tiles(path: Path | str) -> TileFile:
    """An MBTiles file with pictures (PNG or JPEG) for the ground of maps.

    Parameters
    ----------
    path : path
        The file. It is read when a map is drawn; no network is used.

    Returns
    -------
    TileFile
        Its zooms, and the credit of its pictures.

    Raises
    ------
    InputError
        For a file that is not MBTiles, is empty, or holds vector tiles or pictures of another kind.

    Examples
    --------
    >>> import shoal
    >>> shoal.read_tiles("town.mbtiles")  # doctest: +SKIP
    TileFile(path=PosixPath('town.mbtiles'), zooms=(10, 11, 12), credit='© OpenStreetMap contributors')

    References
    ----------
    MBTiles 1.3, https://github.com/mapbox/mbtiles-spec/blob/master/1.3/spec.md
    """
    path = Path(path)
    try:
        path.open("rb").close()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    with _opened(path) as table:
        zooms = tuple(
            zoom
            for zoom in range(MOST_ZOOM + 1)
            if table.execute("SELECT 1 FROM tiles WHERE zoom_level = ? LIMIT 1", (zoom,)).fetchone()
        )
        if not zooms:
            raise InputError(f"{path} holds no tile")
        metadata = dict(table.execute("SELECT name, value FROM metadata").fetchall())
        column, row = table.execute(
            "SELECT tile_column, tile_row FROM tiles WHERE zoom_level = ? LIMIT 1", (zooms[0],)
        ).fetchone()
        if metadata.get("format") == "pbf":
            raise _vector_tiles_error(path)
        _picture(_data(table, zooms[0], column, row), path)
    credit = " ".join(html.unescape(_TAG.sub("", str(metadata.get("attribution") or ""))).split())
    return TileFile(path=path, zooms=zooms, credit=credit[:_LONGEST_CREDIT])


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    steps = 0

    def too_long() -> bool:
        nonlocal steps
        steps += 1
        return steps > _STEPS // 10_000

    unread = f"{path} is no MBTiles file that can be read: it needs the tables tiles and metadata"
    address = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
    with (
        explain_damage(unread, sqlite3.Error, ValueError, TypeError, OverflowError),
        closing(sqlite3.connect(address, uri=True)) as file,
    ):
        file.execute("PRAGMA trusted_schema = OFF")
        file.set_progress_handler(too_long, 10_000)
        yield file


def _data(file: sqlite3.Connection, zoom: int, column: int, row: int) -> bytes:
    result = file.execute(
        "SELECT tile_data FROM tiles WHERE zoom_level = ? AND tile_column = ? AND tile_row = ?",
        (zoom, column, row),
    ).fetchone()
    return bytes(result[0]) if result and isinstance(result[0], bytes) else b""


def _vector_tiles_error(path: Path) -> InputError:
    return InputError(
        f"{path} holds vector tiles, of which shoal draws no picture; make a file of raster tiles (PNG or "
        "JPEG) of them"
    )


def _picture(data: bytes, path: Path) -> tuple[str, bytes]:
    for beginning, kind, drawing_of in (_PNG, "image/png", _of_png), (_JPEG, "image/jpeg", _of_jpeg):
        if data.startswith(beginning):
            if (drawing := drawing_of(data)) is None:
                raise InputError(f"{path} holds a picture that is cut off or broken")
            return kind, drawing
    if data.startswith(_VECTOR):
        raise _vector_tiles_error(path)
    raise InputError(f"{path} holds tiles that are neither PNG nor JPEG; convert them to one of these")


def _of_png(data: bytes) -> bytes | None:
    parts, at = [_PNG], len(_PNG)
    while at + 12 <= len(data):
        end = at + 12 + int.from_bytes(data[at : at + 4], "big")
        kind = data[at + 4 : at + 8]
        if end > len(data):
            return None
        if kind in _DRAWN_BY_PNG:
            parts.append(data[at:end])
        if kind == b"IEND":
            return b"".join(parts)
        at = end
    return None


def _of_jpeg(data: bytes) -> bytes | None:
    parts, at = [data[:2]], 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        kind, end = data[at + 1], at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if kind == _JPEG_START:
            stop = data.rfind(_JPEG_END)
            return b"".join([*parts, data[at : stop + 2]]) if stop > at else None
        if kind not in _NOTES_OF_JPEG:
            parts.append(data[at:end])
        at = end
    return None
