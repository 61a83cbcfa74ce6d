"""Files of raster tiles: what is read of them, and the sentence for a file that is something else."""

import gzip
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from shoal.errors import InputError
from shoal.report.tile_files import read_tiles
from tile_maker import png, square_at, write_mbtiles

AREA = (2.2, 48.7, 2.5, 48.9)
JPEG = (
    bytes.fromhex("ffd8ffe000104a46494600010100000100010000")
    + b"\xff\xe1\x00\x0anote:ada"
    + b"\xff\xfe\x00\x05bob"
)
JPEG += b"\xff\xda\x00\x04abPIXELS\xff\xd9trailing"


def test_tiles_are_found_by_place_and_told_of_without_tags(tmp_path: Path) -> None:
    file = read_tiles(write_mbtiles(tmp_path / "t.mbtiles", AREA, (9, 11)))
    assert (file.zooms, file.credit) == ((9, 11), "maps by A & B")
    at = square_at(2.35, 48.85, 11)
    sizes = file.sizes(11, at[0], at[1], at[0], at[1])
    assert list(sizes) == [at]
    assert file.pictures(11, [at])[at] == ("image/png", png((37 * at[0] + 91 * at[1]) % 256))
    assert file.sizes(11, 0, 0, 3, 3) == {}


def test_what_pictures_say_beside_pixels_is_left_out(tmp_path: Path) -> None:
    told = write_mbtiles(tmp_path / "t.mbtiles", AREA, (3,), lambda *_: png(notes=b"seen at home"))
    at = square_at(2.35, 48.85, 3)
    assert read_tiles(told).pictures(3, [at])[at] == ("image/png", png())
    photo = write_mbtiles(tmp_path / "j.mbtiles", AREA, (3,), lambda *_: JPEG, format="jpg")
    media, drawn = read_tiles(photo).pictures(3, [at])[at]
    assert (media, drawn[:4], drawn[-8:]) == ("image/jpeg", JPEG[:4], b"PIXELS\xff\xd9")
    assert b"ada" not in drawn
    assert b"bob" not in drawn


@pytest.mark.parametrize(
    ("tile", "metadata", "said"),
    [
        (b"\x1a\x00", {"format": "pbf"}, "holds vector tiles, of which shoal draws no picture"),
        (gzip.compress(b"\x1a\x00", mtime=0), {}, "holds vector tiles"),
        (b"RIFF....WEBPVP8 ", {"format": "webp"}, "neither PNG nor JPEG"),
        (png()[:-20], {}, "a picture that is cut off or broken"),
        (JPEG[:30], {}, "a picture that is cut off or broken"),
    ],
)
def test_other_tiles_are_refused(tmp_path: Path, tile: bytes, metadata: dict[str, str], said: str) -> None:
    path = write_mbtiles(tmp_path / "t.mbtiles", AREA, (3,), lambda *_: tile, **metadata)
    with pytest.raises(InputError, match=re.escape(said)) as error:
        read_tiles(path)
    assert str(path) in str(error.value)


def test_other_files_are_refused(tmp_path: Path) -> None:
    text = tmp_path / "tiles.csv"
    text.write_text("uid,t\n1,2\n")
    other = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(other)) as file:
        file.execute("CREATE TABLE trips (id int)")
    endless = tmp_path / "endless.mbtiles"
    with closing(sqlite3.connect(endless)) as file:
        file.execute(
            "CREATE VIEW tiles AS WITH RECURSIVE n(zoom_level) AS "
            "(SELECT 30 UNION ALL SELECT zoom_level FROM n) "
            "SELECT zoom_level, 1 AS tile_column, 1 AS tile_row, x'00' AS tile_data FROM n"
        )
    empty = write_mbtiles(tmp_path / "empty.mbtiles", AREA, ())
    for path, said in (
        (text, "is no MBTiles file"),
        (other, "is no MBTiles file"),
        (endless, "is no MBTiles file"),
        (empty, "holds no tile"),
        (tmp_path / "none.mbtiles", "cannot read"),
        (tmp_path, "cannot read"),
    ):
        with pytest.raises(InputError, match=said):
            read_tiles(path)
