"""Small MBTiles files: each tile a picture of one color, or whatever a test gives."""

import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterable
from contextlib import closing
from math import asinh, pi, radians, tan
from pathlib import Path

CREDIT = 'maps by <a href="https://example.org">A &amp; B</a>'


def png(shade: int = 200, *, notes: bytes = b"", noise: bytes = b"") -> bytes:
    """A picture of one pixel; noise: what makes it as heavy as a real one, in a second block of pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    pixels = chunk(b"IDAT", zlib.compress(bytes([0, shade])) + noise)
    told = chunk(b"tEXt", b"Comment\0" + notes) if notes else b""
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + told + pixels + chunk(b"IEND", b"")


def square_at(lon_deg: float, lat_deg: float, zoom: int) -> tuple[int, int]:
    """Column and row, from the north-west, of the tile that holds a place."""
    down = (1 - asinh(tan(radians(lat_deg))) / pi) / 2
    return int((lon_deg + 180) / 360 * 2**zoom), int(down * 2**zoom)


def write_mbtiles(
    path: Path,
    area: tuple[float, float, float, float],
    zooms: Iterable[int],
    tile: Callable[[int, int, int], bytes] = lambda _zoom, column, row: png((37 * column + 91 * row) % 256),
    **metadata: str,
) -> Path:
    """The tiles over an area (west, south, east, north in degrees). tile: of zoom, column and row."""
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE metadata (name text, value text)")
        file.execute("CREATE TABLE tiles (zoom_level int, tile_column int, tile_row int, tile_data blob)")
        told = {"name": "a town", "format": "png", "attribution": CREDIT, **metadata}
        file.executemany("INSERT INTO metadata VALUES (?, ?)", told.items())
        west, south, east, north = area
        for zoom in zooms:
            (left, top), (right, bottom) = square_at(west, north, zoom), square_at(east, south, zoom)
            for column in range(left, right + 1):
                for row in range(top, bottom + 1):
                    at = (zoom, column, 2**zoom - 1 - row, tile(zoom, column, row))
                    file.execute("INSERT INTO tiles VALUES (?, ?, ?, ?)", at)
        file.commit()
    return path
