"""From what a caller names - a file, a folder, a pattern, a frame - to the tables to read."""

import glob
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from shoal.errors import InputError, MisuseError
from shoal.io import csv_files, frames, gpx_files, parquet_files, plt_files
from shoal.io.tables import Table

Opener = Callable[[], Table]

FORMATS: Final[Mapping[str, Callable[[Path], Table]]] = {
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
}


def openers(source: object) -> tuple[str, list[Opener]]:
    """A name for messages, and one call for each table of the source, in the order of the files' names.

    Raises InputError when there is nothing to read, MisuseError when the source is neither a path nor a
    frame.
    """
    if isinstance(source, str | Path):
        paths = list(files(source))
        return (paths[0].name if len(paths) == 1 else f"{len(paths)} files"), [
            partial(_open, path) for path in paths
        ]
    if isinstance(source, frames.ArrowStream):
        return frames.NAME, [partial(frames.open_table, source)]
    raise MisuseError(
        f"cannot read a {type(source).__name__}; give a path, a folder, a pattern such as 'calls/*.csv', or "
        "a data frame"
    )


def files(source: str | Path) -> Iterator[Path]:
    """The files that a path, a folder or a pattern names, in the order of their names.

    Raises InputError when there is none.
    """
    source = str(source)
    if (
        not source.strip()
    ):  # Path("") is the current folder, which nobody means by an empty variable of a shell
        raise InputError("the name of the input is empty; name a file, a folder or a pattern")
    path = Path(source)
    if path.is_dir():
        found = [
            file
            for file in path.rglob("*")
            if file.is_file() and _is_known(file) and not _is_hidden(file.relative_to(path))
        ]
        if not found:
            raise InputError(
                f"the folder {path.name or source} holds no file that shoal reads; it reads "
                f"{', '.join(FORMATS)}"
            )
        yield from sorted(found)
    elif path.exists():
        if not _is_known(path):
            raise InputError(f"shoal does not know the format of {path.name}; it reads {', '.join(FORMATS)}")
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


def _open(path: Path) -> Table:
    try:
        return FORMATS[_ending(path)](path)
    except OSError as error:
        raise InputError(f"{path.name} cannot be opened: {error.strerror}") from error


def _ending(path: Path) -> str:
    """The longest known ending of a file's name, or an empty text."""
    name = path.name.lower()
    return max((ending for ending in FORMATS if name.endswith(ending)), key=len, default="")


def _is_known(path: Path) -> bool:
    return bool(_ending(path))


def _is_hidden(path: Path) -> bool:
    """Whether a part of the name marks it as not meant for readers, such as ``.git`` or ``_SUCCESS``."""
    return any(part.startswith((".", "_")) for part in path.parts)
