"""FORMATS, the table of file formats: the reader for each ending of a file name."""

import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Final

from shoal.errors import InputError
from shoal.io.formats import (
    ais_files,
    arrow_files,
    csv_files,
    database_files,
    excel_files,
    fit_files,
    gis_files,
    gpx_files,
    gtfs_realtime_files,
    json_files,
    json_lines_files,
    kml_files,
    nmea_files,
    owntracks_files,
    parquet_files,
    plt_files,
    tcx_files,
)
from shoal.io.formats.input_table import Table
from shoal.io.formats.packed_files import PACKED, TAR, open_packed
from shoal.messages import Message, say
from shoal.model.intake import Reading

FORMATS: Final[Mapping[str, Callable[[Path, Reading], Table]]] = {
    ".csv": csv_files.open_table,
    ".csv.gz": csv_files.open_table,
    ".tsv": csv_files.open_table,
    ".tsv.gz": csv_files.open_table,
    ".txt": csv_files.open_table,
    ".txt.gz": csv_files.open_table,
    ".parquet": parquet_files.open_table,
    ".geoparquet": parquet_files.open_table,
    ".pq": parquet_files.open_table,
    ".plt": plt_files.open_table,
    ".gpx": gpx_files.open_table,
    ".gpx.gz": gpx_files.open_table,
    ".kml": kml_files.open_table,
    ".kml.gz": kml_files.open_table,
    ".kmz": kml_files.open_zipped,
    ".tcx": tcx_files.open_table,
    ".tcx.gz": tcx_files.open_table,
    ".fit": fit_files.open_table,
    ".fit.gz": fit_files.open_table,
    ".json": json_files.open_table,
    ".json.gz": json_files.open_table,
    ".geojson": json_files.open_table,
    ".geojson.gz": json_files.open_table,
    ".jsonl": json_lines_files.open_table,
    ".jsonl.gz": json_lines_files.open_table,
    ".ndjson": json_lines_files.open_table,
    ".geojsonl": json_lines_files.open_table,
    ".rec": owntracks_files.open_table,
    ".nmea": nmea_files.open_table,
    ".nmea.gz": nmea_files.open_table,
    ".ais": ais_files.open_table,
    ".ais.gz": ais_files.open_table,
    ".pb": gtfs_realtime_files.open_table,
    ".pb.gz": gtfs_realtime_files.open_table,
    ".arrow": arrow_files.open_table,
    ".feather": arrow_files.open_table,
    ".xlsx": excel_files.open_table,
    ".xls": excel_files.open_table,
    ".ods": excel_files.open_table,
    ".gpkg": gis_files.open_table,
    ".fgb": gis_files.open_table,
    ".shp": gis_files.open_table,
    ".sqlite": database_files.open_sqlite,
    ".sqlite3": database_files.open_sqlite,
    ".db": database_files.open_sqlite,
    ".duckdb": database_files.open_duckdb,
}
# settings that only some readers take, and what to say where another is given one
_READERS_OF: Final[Mapping[str, tuple[Collection[object], Callable[[str], Message]]]] = {
    "columns": (
        {csv_files.open_table},
        lambda name: say(
            "reading.columns_unused",
            "--columns was not used: it names the columns of delimited text, and {file} is none",
            file=name,
        ),
    ),
    "table": (
        {
            excel_files.open_table,
            gis_files.open_table,
            database_files.open_sqlite,
            database_files.open_duckdb,
        },
        lambda name: say(
            "reading.table_unused",
            "--table was not used: {file} holds no tables, sheets or layers to choose from",
            file=name,
        ),
    ),
}
ARCHIVE: Final = ".zip"
ARCHIVES: Final = (ARCHIVE, *TAR)
_ABOUT: Final = re.compile(
    r"(readme|licen[cs]e|copying|notice|change(log|s)|citation|authors|contributors|codebook|terms|about|"
    r"data[-_ ]?dictionary|description|requirements)([-_. ].*)?|"
    r"(metadata|datapackage|schema|package|manifest|dataset_description|settings|tombstones|timeline edits|"
    r"encrypted backups|checksums?)\.(json|csv|txt)|"
    r"(saved places|labeled places|reviews)\.json"  # of an account at Google
)
_LINES: Final = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".geojsonl")


def open_file(path: Path, reading: Reading) -> Table:
    """Open a file with the reader of its format."""
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty")
    if path.suffix.lower() in PACKED:
        return open_packed(path, lambda inner: open_file(inner, reading))
    reader = FORMATS[_ending(path)]
    return note_unused_settings(reader(path, reading), reading, reader)


def note_unused_settings(table: Table, reading: Reading, reader: object = None) -> Table:
    """Note each setting that the reader does not use."""
    for setting, (readers, note) in _READERS_OF.items():
        if getattr(reading, setting) is not None and reader not in readers:
            table.notes.append(note(table.name))
    return table


def _ending(path: Path) -> str:
    name = path.stem.lower() if path.suffix.lower() in PACKED else path.name.lower()
    return max((ending for ending in FORMATS if name.endswith(ending)), key=len, default="")


def is_read(path: Path) -> bool:
    """Whether shoal reads such a file on its own."""
    return bool(_ending(path)) and not is_hidden(path)


def is_lines(name: str) -> bool:
    """Whether such a file is lines of text, possibly none."""
    return name.lower().endswith(_LINES)


def is_known(path: Path) -> bool:
    """Whether such a file can be read, as an archive too."""
    return bool(_ending(path)) or path.name.lower().endswith(ARCHIVES)


def known_endings() -> str:
    """The known endings, for messages."""
    return f"{', '.join((*FORMATS, *ARCHIVES))}, and these packed as {', '.join(PACKED)}"


def is_about_data(path: Path) -> bool:
    """Whether a file among others describes them by its name, such as a README or Google's settings."""
    return bool(_ABOUT.fullmatch(path.name.lower()))


def is_hidden(path: Path) -> bool:
    """Whether a part of the name hides it, such as ``.git`` or ``_SUCCESS``."""
    return any(part.startswith((".", "_")) for part in path.parts)
