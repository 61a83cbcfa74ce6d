"""From what a caller names - a file, a folder, a pattern, a database, a frame - to the tables to read."""

import glob
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, Final

import pyarrow as pa

from shoal.errors import InputError, MisuseError, OutputError
from shoal.io import (
    ais_files,
    arrow_files,
    csv_files,
    database_files,
    excel_files,
    fit_files,
    frames,
    gis_files,
    gpx_files,
    gtfs_realtime_files,
    json_files,
    json_lines_files,
    kml_files,
    lake_folders,
    nmea_files,
    object_stores,
    owntracks_files,
    parquet_files,
    plt_files,
    servers,
    tcx_files,
    zip_files,
)
from shoal.io.tables import Table, with_constants
from shoal.model.intake import Reading

Opener = Callable[[], Table]

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
_TAKEN_BY: Final = {
    "columns": (
        {csv_files.open_table},
        "--columns was not used: it names the columns of delimited text, and {name} is none",
    ),
    "table": (
        {
            excel_files.open_table,
            gis_files.open_table,
            database_files.open_sqlite,
            database_files.open_duckdb,
        },
        "--table was not used: {name} holds no tables, sheets or layers to choose from",
    ),
}
ARCHIVE: Final = ".zip"
STANDARD_INPUT: Final = "-"
SPARK_TABLE: Final = "spark-table:"
BY_SPARK: Final = (
    "a table of Spark's catalog is read by anonymize with --blocks and --engine spark; for anything else "
    "have Spark write it to Parquet first, and name that folder"
)


def openers(source: object, reading: Reading) -> tuple[str, list[Opener]]:
    """A name for messages, and one call for each table of the source, in the order of the files' names.

    Raises InputError when there is nothing to read, MisuseError when the source is neither a path nor a
    frame.
    """
    if isinstance(source, str) and servers.is_address(source):
        return servers.NAME, [lambda: _telling_unused(servers.open_table(source), reading)]
    if isinstance(source, str) and object_stores.is_address(source):
        return _of_objects(source, reading)
    if isinstance(source, str) and source == STANDARD_INPUT:
        return "standard input", [partial(_standard_input, reading)]
    if isinstance(source, str | Path):
        return _of_files(source, reading)
    parts = frames.parts_of(source)
    if parts is not None:
        return frames.NAME, [partial(_of_part, part, reading) for part in parts]
    if isinstance(source, frames.ArrowStream):
        return frames.NAME, [lambda: _telling_unused(frames.open_table(source), reading)]
    raise MisuseError(
        f"cannot read a {type(source).__name__}; give a path, a folder, a pattern such as 'calls/*.csv', or "
        "a data frame"
    )


@dataclass(frozen=True, kw_only=True)
class FileOpener:
    """A file, which any process that reaches it can open, with the values that its folders' names hold.

    Those are like ``day=2024-05-01``. root: the folder that all files share. number: which file of its name
    it is, for messages.
    """

    reading: Reading
    path: Path
    root: Path
    number: str = ""

    def __call__(self) -> Table:
        """The table; raises InputError where it cannot be opened."""
        return _open(self.reading, self.path, self.root, self.number)

    def size_bytes(self) -> int:
        """How large it is; 0 when it is gone, which is told when its turn comes."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def parts(self) -> list[range]:
        """What of it can be read apart, in order."""
        return self().parts


@dataclass(frozen=True, kw_only=True)
class ObjectOpener:
    """The same of an object in a store. size: in bytes, as listed."""

    reading: Reading
    system: Any
    path: str
    root: str
    size: int
    number: str = ""

    def __call__(self) -> Table:
        """The table; raises InputError where it cannot be opened."""
        within = PurePosixPath(self.path).relative_to(self.root)
        with _numbered(within.name, self.number):
            table = object_stores.open_object(self.system, self.path, partial(_read, reading=self.reading))
        owners = tuple(replace(each, place=self.path) for each in table.owners)
        table = replace(table, place=self.path, owners=owners)
        return _with_folders(_numbering(table, self.number), within)

    def size_bytes(self) -> int:
        """How large it is."""
        return self.size

    def parts(self) -> list[range]:
        """What of it can be read apart, in order; nothing of what has to be copied first."""
        return self().parts if self.path.lower().endswith(object_stores.PARQUET) else []


def files(source: str | Path) -> Iterator[Path]:
    """The files that a path, a folder or a pattern names, in the order of their names.

    Raises InputError when there is none.
    """
    source = str(source)
    if (
        not source.strip()
    ):  # Path("") is the current folder, which nobody means by an empty variable of a shell
        raise InputError("the name of the input is empty; name a file, a folder or a pattern")
    if source.startswith(SPARK_TABLE):
        raise InputError(BY_SPARK)
    if source == STANDARD_INPUT:
        raise InputError("standard input can be read only once; save it to a file first")
    if "://" in source:  # it may hold a password, which no message repeats
        raise InputError(
            "addresses are not read here; give postgresql://... with a query, s3://... or gs://..., or save "
            "the rows to a file"
        )
    path = Path(source)
    if path.is_dir():
        found = _within(path)
        if not found:
            raise InputError(
                f"the folder {path.name or source} holds no file that shoal reads; it reads {_known()}"
            )
        yield from sorted(found)
    elif path.exists():
        _require_file(path)
        if not _is_known(path):
            raise InputError(f"shoal does not know the format of {path.name}; it reads {_known()}")
        yield path
    elif glob.has_magic(source):
        # Path.glob takes no absolute pattern
        matches = sorted(Path(match) for match in glob.glob(source, recursive=True))  # noqa: PTH207
        if not matches:
            raise InputError(f"no file matches {source}")
        for match in matches:
            yield from files(match)
    else:
        raise InputError(f"no file or folder {source}; check the path")


def require_outside(source: str | Path, *written: Path | None) -> None:
    """Raise OutputError for what would be written into the folder of an input, and be read with it."""
    if "://" in str(source) or not Path(source).is_dir():
        return
    for path in written:
        if path is not None and path.resolve().is_relative_to(Path(source).resolve()):
            raise OutputError(
                f"{path} would lie inside the input {source}, whose files are read as raw data; write it "
                "elsewhere"
            )


def _within(folder: Path) -> list[Path]:
    """The files in a folder that are read, also behind links.

    A link to a folder that it lies in leads round in a circle, and nothing behind it is new. Raises
    InputError for a folder that cannot be opened, a link that leads nowhere, and a table in a lake.
    """

    def refuse(error: OSError) -> None:
        name = Path(str(error.filename)).name
        raise InputError(f"the folder {name} cannot be opened: {error.strerror}") from error

    lake_folders.require_no_lake_within(folder)
    found: list[Path] = []
    for place, folders, names in os.walk(folder, onerror=refuse, followlinks=True):
        here = Path(place)
        around = {here.resolve(), *here.resolve().parents}
        links = [name for name in folders if (here / name).is_symlink()]
        round_about = {name for name in links if (here / name).resolve() in around}
        folders[:] = [name for name in folders if name not in round_about]
        for name in set(links) - round_about:
            lake_folders.require_no_lake_within(here / name)
        found += [here / name for name in names]
    found = [path for path in found if _is_known(path) and not _is_hidden(path.relative_to(folder))]
    for path in found:
        _require_file(path)
    return found


def _require_file(path: Path) -> None:
    """Raises InputError for a link that leads nowhere, and for what is no file and cannot be read twice."""
    if not path.exists():
        raise InputError(f"{path.name} is a link to a file that is not there; mend or remove it")
    if not path.is_file():
        raise InputError(
            f"{path.name} is no file but a pipe or a device, which can be read only once; save its rows to a "
            "file first, or pipe them into shoal with - as the input"
        )


@dataclass(frozen=True)
class State:
    """A file of an input: what tells that it is another one, or has other content.

    changed_ns: when it was written, as its owner may set it. signs: two numbers that the system alone sets;
    a store has none, and lets nobody set the time. path: on a disk.
    """

    name: str
    size: int
    changed_ns: int
    signs: tuple[int, int] = (0, 0)
    path: Path | None = None


def states(source: str | Path) -> list[State]:
    """The files of an input at this moment, in the order of their names.

    Raises InputError when there is none, and for what is not in files.
    """
    if isinstance(source, str) and servers.is_address(source):
        raise InputError(
            "rows of a server are not read in blocks, since they may differ when the work is continued; save "
            "them to a file first"
        )
    if isinstance(source, str) and object_stores.is_address(source):
        _, _, found = object_stores.files(source, lambda path: _reads(Path(path)))
        return [State(info.path, info.size, info.mtime_ns or 0) for info in found]
    there = [(path, path.stat()) for path in _written(source)]
    return [
        State(path.name, at.st_size, at.st_mtime_ns, (at.st_ctime_ns, at.st_ino), path.absolute())
        for path, at in there
    ]


def _written(source: str | Path) -> Iterator[Path]:
    """All files of a table in a lake, whose log says which of them count; else those that are read."""
    if "://" not in str(source) and lake_folders.kind_of(Path(source)) is not None:
        yield from sorted(path for path in Path(source).rglob("*") if path.is_file())
    else:
        yield from files(source)


def _of_files(source: str | Path, reading: Reading) -> tuple[str, list[Opener]]:
    """The tables of a path, a folder or a pattern; an archive gives one for each member that is read."""
    if "://" not in str(source) and (kind := lake_folders.kind_of(Path(source))) is not None:
        lake = Path(source)
        return lake.name, [lambda: _telling_unused(lake_folders.open_table(lake, kind), reading)]
    paths = list(files(source))
    root = _root(source, paths)
    opened: list[Opener] = []
    for number, path in zip(_numbers([path.name for path in paths]), paths, strict=True):
        if path.name.lower().endswith(ARCHIVE):
            opened += [
                partial(zip_files.open_member, path, member, partial(_open, reading))
                for member in zip_files.members(path, _reads)
            ]
        else:
            opened.append(
                FileOpener(reading=reading, path=path.absolute(), root=root.absolute(), number=number)
            )
    return (paths[0].name if len(paths) == 1 else f"{len(paths)} files"), opened


def _of_objects(address: str, reading: Reading) -> tuple[str, list[Opener]]:
    """The tables of a folder or a file in an object store."""
    system, root, found = object_stores.files(address, lambda path: _reads(Path(path)))
    names = [PurePosixPath(each.path).name for each in found]
    return (names[0] if len(found) == 1 else f"{len(found)} files"), [
        ObjectOpener(reading=reading, system=system, path=each.path, root=root, size=each.size, number=number)
        for each, number in zip(found, _numbers(names), strict=True)
    ]


def _numbers(names: Sequence[str]) -> list[str]:
    """Which file it is, in words, for those that share their name with another one; else nothing.

    Folders are not named: they may be called by people.
    """
    often = Counter(names)
    return [
        f" (file {number:,} of {len(names):,}, by path)" if often[name] > 1 else ""
        for number, name in enumerate(names, start=1)
    ]


@contextmanager
def _numbered(name: str, number: str) -> Iterator[None]:
    """Let messages about a file say which one of that name it is."""
    try:
        yield
    except InputError as error:
        if not number or type(error) is not InputError:
            raise
        raise InputError(error.as_written.replace(name, f"{name}{number}", 1)) from error


def _numbering(table: Table, number: str) -> Table:
    """The table, whose messages say which file of its name it is."""

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        with _numbered(table.name, number):
            yield from table.batches(columns)

    return replace(table, batches=batches) if number else table


def _standard_input(reading: Reading) -> Table:
    """What another program writes: kept in a file for as long as it is read."""
    return zip_files.open_stream(sys.stdin.buffer, partial(_open, reading))


def _open(reading: Reading, path: Path, root: Path, number: str = "") -> Table:
    """One file, with the values that its folders' names hold (``day=2024-05-01``), and its own place.

    root: the folder that all files share. number: which file of its name it is, for messages.
    """
    try:
        with _numbered(path.name, number):
            table = _numbering(_read(path, reading), number)
    except OSError as error:
        raise InputError(f"{path.name} cannot be opened: {error.strerror}") from error
    within = path.relative_to(root) if path.is_relative_to(root) else Path(path.name)
    return _with_folders(replace(table, place=table.place or str(path.resolve())), within)


def _read(path: Path, reading: Reading) -> Table:
    """A file by the reader of its format."""
    reader = FORMATS[_ending(path)]
    return _telling_unused(reader(path, reading), reading, reader)


def _of_part(part: Any, reading: Reading) -> Table:
    return _telling_unused(frames.open_part(part), reading)


def _telling_unused(table: Table, reading: Reading, reader: object = None) -> Table:
    """The table, with a note for each setting that was given and that its reader does not take."""
    for setting, (readers, note) in _TAKEN_BY.items():
        if getattr(reading, setting) is not None and reader not in readers:
            table.notes.append(note.format(name=table.name))
    return table


def _with_folders(table: Table, within: PurePath) -> Table:
    """The table with columns of what its folders' names say, and with its own path if a file is a person."""
    constants = dict(part.split("=", 1) for part in within.parts[:-1] if part.count("=") == 1)
    if table.owners:
        constants["path"] = within.as_posix()
    return with_constants(table, constants) if constants else table


def _root(source: str | Path, paths: Sequence[Path]) -> Path:
    if Path(source).is_dir():
        return Path(source)
    return Path(os.path.commonpath([path.parent for path in paths]))


def _ending(path: Path) -> str:
    """The longest known ending of a file's name, or an empty text."""
    name = path.name.lower()
    return max((ending for ending in FORMATS if name.endswith(ending)), key=len, default="")


def _reads(path: Path) -> bool:
    """Whether a file, by its name, is one that shoal reads on its own."""
    return bool(_ending(path)) and not _is_hidden(path)


def _is_known(path: Path) -> bool:
    return bool(_ending(path)) or path.name.lower().endswith(ARCHIVE)


def _known() -> str:
    return ", ".join((*FORMATS, ARCHIVE))


def _is_hidden(path: Path) -> bool:
    """Whether a part of the name marks it as not meant for readers, such as ``.git`` or ``_SUCCESS``."""
    return any(part.startswith((".", "_")) for part in path.parts)
