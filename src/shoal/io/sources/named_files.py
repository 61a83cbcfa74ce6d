"""The files of a source, and whether they changed."""

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shoal.errors import InputError, OutputError
from shoal.io.formats import plt_files
from shoal.io.formats.table import is_about_data, is_hidden, is_known, is_read, known_endings
from shoal.io.sources import lake_folders, object_stores, servers

STANDARD_INPUT: Final = "-"
SPARK_TABLE: Final = "spark-table:"
BY_SPARK: Final = (
    "a table of Spark's catalog is read by anonymize with --blocks and --engine spark; for anything else "
    "have Spark write it to Parquet first, and name that folder"
)


def files(source: str | Path) -> Iterator[Path]:
    """The files, by name."""
    source = str(source)
    if not source.strip():  # the current folder, which nobody means by an empty variable of a shell
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
        paths = _within(path)
        if not paths:
            raise InputError(
                f"the folder {path.name or source} holds no file that shoal reads; it reads {known_endings()}"
            )
        yield from sorted(paths)
    elif path.exists():
        _require_file(path)
        if not is_known(path):
            raise InputError(f"shoal does not know the format of {path.name}; it reads {known_endings()}")
        yield path
    elif glob.has_magic(source):
        # Path.glob takes no absolute pattern
        matches = sorted(Path(match) for match in glob.glob(source, recursive=True))  # noqa: PTH207  (a pattern of any folder)
        if not matches:
            raise InputError(f"no file matches {source}")
        for match in matches:
            yield from files(match)
    else:
        raise InputError(f"no file or folder {source}; check the path")


def require_outside(source: str | Path, *written: Path | None) -> None:
    """Raise OutputError for output inside an input's folder, which would be read with it."""
    if "://" in str(source) or not Path(source).is_dir():
        return
    for path in written:
        if path is not None and path.resolve().is_relative_to(Path(source).resolve()):
            raise OutputError(
                f"{path} would lie inside the input {source}, whose files are read as raw data; write it "
                "elsewhere"
            )


def _within(folder: Path) -> list[Path]:
    """A link to a folder around it leads in a circle, and is not followed."""

    def refuse(error: OSError) -> None:
        name = Path(str(error.filename)).name
        raise InputError(f"the folder {name} cannot be opened: {error.strerror}") from error

    lake_folders.require_no_lake_within(folder)
    paths: list[Path] = []
    for place, folders, names in os.walk(folder, onerror=refuse, followlinks=True):
        directory = Path(place)
        around = {directory.resolve(), *directory.resolve().parents}
        links = [name for name in folders if (directory / name).is_symlink()]
        round_about = {name for name in links if (directory / name).resolve() in around}
        folders[:] = [name for name in folders if name not in round_about]
        for name in set(links) - round_about:
            lake_folders.require_no_lake_within(directory / name)
        paths += [directory / name for name in names]
    paths = [path for path in paths if is_known(path) and not is_hidden(path.relative_to(folder))]
    for path in paths:
        _require_file(path)
    labels = plt_files.labels(paths)
    paths = [path for path in paths if path not in labels]
    return [path for path in paths if not is_about_data(path)] or paths


def names_about_data(folder: Path, paths: Sequence[Path]) -> list[str]:
    """The files of a folder that describe its data and are not read, without repeats."""
    left = [path for path in folder.rglob("*") if is_known(path) and is_about_data(path)]
    return sorted({path.name for path in left} - {path.name for path in paths})


def endings_left_out(folder: Path, read: Sequence[Path]) -> list[str]:
    """The ending of each other file that may hold data, but not of parts of those read, as of a Shapefile."""
    names = {path.name.partition(".")[0] for path in read}
    inside = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    left = [path for path in inside if path.name.partition(".")[0] not in names and not is_about_data(path)]
    return [path.suffix for path in left if (path.name[0] == "_" if is_known(path) else not is_hidden(path))]


def _require_file(path: Path) -> None:
    if not path.exists():
        raise InputError(f"{path.name} is a link to a file that is not there; mend or remove it")
    if not path.is_file():
        raise InputError(
            f"{path.name} is no file but a pipe or a device, which can be read only once; save its rows to a "
            "file first, or pipe them into shoal with - as the input"
        )


@dataclass(frozen=True)
class State:
    """A file by what changes with its content.

    changed_ns: as its owner may set it. signs: two numbers that only the system sets; a store has none.
    path: on a disk.
    """

    name: str
    size: int
    changed_ns: int
    signs: tuple[int, int] = (0, 0)
    path: Path | None = None


def states(source: str | Path) -> list[State]:
    """The files now, by name."""
    if isinstance(source, str) and servers.is_address(source):
        raise InputError(
            "rows of a server are not read in blocks, since they may differ when the work is continued; save "
            "them to a file first"
        )
    if isinstance(source, str) and object_stores.is_address(source):
        _, _, objects = object_stores.files(source, lambda path: is_read(Path(path)))
        return [State(info.path, info.size, info.mtime_ns or 0) for info in objects]
    if "://" not in str(source) and lake_folders.kind_of(Path(source)) is not None:
        paths = sorted(path for path in Path(source).rglob("*") if path.is_file())  # its log says which count
    else:
        paths = list(files(source))
    return [
        State(path.name, at.st_size, at.st_mtime_ns, (at.st_ctime_ns, at.st_ino), path.absolute())
        for path, at in zip(paths, map(Path.stat, paths), strict=True)
    ]
