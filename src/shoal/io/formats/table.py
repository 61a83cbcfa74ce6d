"""The readers of file formats, each with the endings of its files' names."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from shoal.errors import InputError
from shoal.io.formats import (
    csv_files,
    database_files,
    excel_files,
    fit_files,
    gis_files,
    gtfs_realtime_files,
    json_files,
    nmea_files,
    parquet_files,
    plt_files,
    xml_files,
)
from shoal.io.formats.input_table import Table
from shoal.io.formats.packed_files import PACKED, TAR, open_packed
from shoal.io.toml_tables import TABLES
from shoal.messages import say
from shoal.model.intake import Reading

Reader = Callable[[Path, Reading], Table]
_READERS: Final[Mapping[Reader, str]] = {
    csv_files.open_table: ".csv .csv.gz .tsv .tsv.gz .tab .txt .txt.gz",
    parquet_files.open_table: ".parquet .geoparquet .pq",
    plt_files.open_table: ".plt",
    xml_files.open_gpx: ".gpx .gpx.gz",
    xml_files.open_kml: ".kml .kml.gz",
    xml_files.open_kmz: ".kmz",
    xml_files.open_tcx: ".tcx .tcx.gz",
    fit_files.open_table: ".fit .fit.gz",
    json_files.open_table: ".json .json.gz .geojson .geojson.gz",
    json_files.open_lines: ".jsonl .jsonl.gz .ndjson .geojsonl",
    json_files.open_owntracks: ".rec",
    nmea_files.open_table: ".nmea .nmea.gz",
    nmea_files.open_ships: ".ais .ais.gz",
    gtfs_realtime_files.open_table: ".pb .pb.gz",
    parquet_files.open_arrow: ".arrow .arrows .feather .ipc",
    excel_files.open_table: ".xlsx .xls .ods",
    gis_files.open_table: ".gpkg .fgb .shp",
    database_files.open_sqlite: ".sqlite .sqlite3 .db",
    database_files.open_duckdb: ".duckdb",
}
FORMATS: Final[Mapping[str, Reader]] = {
    ending: reader for reader, endings in _READERS.items() for ending in endings.split()
}
_OF_SEVERAL_TABLES: Final = (
    excel_files.open_table, gis_files.open_table, database_files.open_sqlite, database_files.open_duckdb,
)  # fmt: skip
ARCHIVE: Final = ".zip"
ARCHIVES: Final = (ARCHIVE, *TAR)
_ABOUT: Final = re.compile(
    r"({texts})([-_. ].*)?|({tables})\.(json|csv|txt)|({google})\.json".format_map(
        {kind: "|".join(names) for kind, names in TABLES["facts"]["about"].items()}
    )
)
_LOOKED_AT: Final = 64  # bytes
_LINES: Final = (".csv", ".tsv", ".tab", ".txt", ".jsonl", ".ndjson", ".geojsonl")


def open_file(path: Path, reading: Reading) -> Table:
    """Open a file with the reader of its format."""
    with path.open("rb") as file:
        first = file.read(_LOOKED_AT).removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if not first and path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty")
    for beginning, what in TABLES["facts"]["instead"].items():
        if first.startswith(beginning.encode()):
            raise InputError(f"{path.name} {what}")
    if path.suffix.lower() in PACKED:
        return open_packed(path, lambda inner: open_file(inner, reading))
    reader = FORMATS[_ending(path)]
    return note_unused_settings(reader(path, reading), reading, reader)


def note_unused_settings(table: Table, reading: Reading, reader: Reader | None = None) -> Table:
    """Note each setting that the reader does not use."""
    if reading.columns is not None and reader is not csv_files.open_table:
        text = "--columns was not used: it names the columns of delimited text, and {file} is none"
        table.notes.append(say("reading.columns_unused", text, file=table.name))
    if reading.table is not None and reader not in _OF_SEVERAL_TABLES:
        text = "--table was not used: {file} holds no tables, sheets or layers to choose from"
        table.notes.append(say("reading.table_unused", text, file=table.name))
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
    return any(part.startswith((".", "_", "~$")) for part in path.parts)
