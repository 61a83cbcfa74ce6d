"""GDAL through pyogrio (extra ``geo``): no other file imports it.

GDAL chooses a driver by the content of a file, whatever its name, and some drivers (VRT, WFS, ...) read the
local files and web addresses that the content names. So the first bytes must be those of the ending, the
drivers of other formats are off while a file is opened, and so are network and virtual file systems.
"""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, Final

import pyarrow as pa

from shoal.errors import InputError, requiring_extra

# by ending: the one driver, and the first bytes of a file of it, but blanks
DRIVERS: Final = {
    ".gpkg": ("GPKG", b"SQLite format 3\x00"),
    ".fgb": ("FlatGeobuf", b"fgb\x03fgb"),
    ".geojson": ("GeoJSON", b"{"),
    ".shp": ("ESRI Shapefile", b"\x00\x00\x27\x0a"),
}
_LOOKED_AT: Final = 256
_BLANKS: Final = b"\xef\xbb\xbf \t\r\n"
# no address ends so, so that no virtual file system of the network opens one; a proxy that does not exist
_OFFLINE: Final = {
    "CPL_VSIL_CURL_ALLOWED_EXTENSIONS": "{none}",
    "GDAL_HTTP_PROXY": "http://127.0.0.1:1",
    "GDAL_HTTPS_PROXY": "http://127.0.0.1:1",
}
_ONE_AT_A_TIME: Final = Lock()  # drivers are those of the process


@contextmanager
def one_driver(path: Path) -> Iterator[tuple[Any, str]]:
    """pyogrio, with only the driver for the ending of ``path`` in the block, and the path as GDAL takes it.

    Raises InputError when the first bytes of the file are not those of its ending.
    """
    with requiring_extra(f"{path.suffix} files need pyogrio", "geo"):
        import pyogrio
        from pyogrio.core import _register_drivers
    if path.suffix.lower() not in DRIVERS:
        raise InputError(f"{path.name} is no file of {', '.join(DRIVERS)}")
    driver, first_bytes = DRIVERS[path.suffix.lower()]
    place = str(path.resolve())  # a relative path such as s3:/a.gpkg is an address to pyogrio
    if place.startswith("/vsi"):
        raise InputError(f"{place} would be a virtual file to GDAL; move it elsewhere")
    with path.open("rb") as file:
        if not file.read(_LOOKED_AT).lstrip(_BLANKS).startswith(first_bytes):
            raise InputError(
                f"{path.name} is not a {path.suffix[1:]} file: it begins with other bytes; save it again"
            )
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of measures and marks of a file, which nothing here reads
        others = [name for name in pyogrio.list_drivers() if name != driver]
        before = {name: pyogrio.get_gdal_config_option(name) for name in _OFFLINE}
        pyogrio.set_gdal_config_options({**_OFFLINE, "GDAL_SKIP": ",".join(others)})
        try:
            _register_drivers()  # which also takes those to skip away
            yield pyogrio, place
        finally:
            pyogrio.set_gdal_config_options({**before, "GDAL_SKIP": None})
            _register_drivers()


def write_layers(path: Path, layers: Mapping[str, tuple[pa.Table, Any, str | None]]) -> None:
    """Write a GeoPackage of layers: columns of text and numbers, shapes as WKB or None, and a CRS."""
    with requiring_extra(f"{path.suffix} files need pyogrio", "geo"):
        import pyogrio
    place = str(path.resolve())  # a relative path such as s3:/a.gpkg is an address to pyogrio
    with _ONE_AT_A_TIME:
        for number, (name, (table, shapes, crs)) in enumerate(layers.items()):
            columns = [
                column.fill_null(0).to_numpy() if column.null_count else column.to_numpy() for column in table
            ]
            pyogrio.raw.write(
                place,
                shapes,
                columns,
                table.column_names,
                field_mask=[column.is_null().to_numpy() if column.null_count else None for column in table],
                layer=name,
                driver="GPKG",
                geometry_type=None if shapes is None else "Unknown",
                crs=crs,
                append=number > 0,
            )
