"""From a source - file, folder, pattern, database, frame - to its tables."""

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, Final

import pyarrow as pa

from shoal.errors import InputError, MisuseError
from shoal.io.columns.owners import add_file_column
from shoal.io.formats import frames
from shoal.io.formats.input_table import Table, add_constants
from shoal.io.formats.table import ARCHIVES, is_lines, is_read, note_unused_settings, open_file
from shoal.io.sources import lake_folders, object_stores, servers, zip_files
from shoal.io.sources.named_files import STANDARD_INPUT, endings_left_out, files, names_about_data
from shoal.messages import say, say_number
from shoal.model.intake import Reading

Opener = Callable[[], Table]
_NAMED: Final = 5  # endings of files that a note names
_BLANK_BYTES: Final = 1 << 12  # blank lines alone, at most; nobody writes more of them


def openers(source: object, reading: Reading) -> tuple[str, list[Opener]]:
    """A name for messages, and one call for each table, by file name."""
    if isinstance(source, str) and servers.is_address(source):
        return servers.NAME, [partial(_open_noted, reading, partial(servers.open_table, source))]
    if isinstance(source, str) and object_stores.is_address(source):
        return _of_objects(source, reading)
    if isinstance(source, str) and source == STANDARD_INPUT:
        open_inner = partial(_open, reading)
        return "standard input", [lambda: zip_files.open_stream(sys.stdin.buffer, open_inner)]
    if isinstance(source, str | Path):
        return _of_files(source, reading)
    if (parts := frames.parts_of(source)) is not None:
        return frames.NAME, [partial(_open_noted, reading, partial(frames.open_part, part)) for part in parts]
    raise MisuseError(
        f"cannot read a {type(source).__name__}; give a path, a folder, a pattern such as 'calls/*.csv', or "
        "a data frame"
    )


@dataclass(frozen=True, kw_only=True)
class FileOpener:
    """A file on a disk, in an archive or in a store.

    size: in bytes; 0 when it is gone. path: on a disk. apart: any process can open it. notes: of its folder
    or archive.
    """

    open: Opener
    name: str
    size: int
    path: Path | None = None
    apart: bool = True
    notes: tuple[str, ...] = ()

    def __call__(self) -> Table:
        """Open the table."""
        table = self.open()
        table.notes.extend(self.notes)
        return table

    def is_blank(self) -> bool:
        """Whether it is text without lines, or on a disk with blank lines alone."""
        if not is_lines(self.name) or self.size > _BLANK_BYTES:
            return False
        try:
            return self.size == 0 if self.path is None else not self.path.read_bytes().strip()
        except OSError:
            return False

    def parts(self) -> list[range]:
        """Ranges for tasks, in order; none of formats other than Parquet."""
        return self().parts if self.name.lower().endswith(object_stores.PARQUET) else []


def skip_blank(waiting: Sequence[Opener]) -> list[Opener]:
    """Openers without empty text files, unless all are; Parquet, JSON or packed text was cut when empty."""
    some = [opener for opener in waiting if not (isinstance(opener, FileOpener) and opener.is_blank())]
    return some or list(waiting)


def _of_files(source: str | Path, reading: Reading) -> tuple[str, list[Opener]]:
    if "://" not in str(source) and (kind := lake_folders.kind_of(Path(source))) is not None:
        lake = Path(source)
        opener = partial(lake_folders.open_table, lake, kind)
        return lake.name, [partial(_open_noted, reading, partial(_open_numbered, lake.name, opener))]
    paths = list(files(source))
    opened: list[Opener] = []
    is_folder = "://" not in str(source) and Path(source).is_dir()
    root = Path(source if is_folder else os.path.commonpath([path.parent for path in paths]))
    notes = _not_read(Path(source), paths) if is_folder else ()
    for number, path in zip(_numbers([path.name for path in paths]), paths, strict=True):
        if path.name.lower().endswith(ARCHIVES):
            archive = zip_files.open_archive(path)
            members, about = zip_files.members(archive.path, is_read)
            of_archive = _about_data(about)
            for member, size in members.items():
                opener = partial(zip_files.open_member, archive, member, partial(_open, reading))
                opened.append(FileOpener(open=opener, name=member, size=size, apart=False, notes=of_archive))
        else:
            whole = path.absolute()
            opener = partial(_open, reading, whole, root.absolute(), number)
            size = whole.stat().st_size if whole.exists() else 0
            opened.append(FileOpener(open=opener, name=path.name, size=size, path=whole, notes=notes))
    return (paths[0].name if len(paths) == 1 else f"{len(paths)} files"), opened


def _not_read(folder: Path, read: Sequence[Path]) -> tuple[str, ...]:
    about, endings = _about_data(names_about_data(folder, read)), endings_left_out(folder, read)
    some = ", ".join(sorted({ending or "without an ending" for ending in endings})[:_NAMED])
    kind = "with _ before the name, or of no format that shoal reads ({endings})"
    one, more = f"left out: {{number}} file {kind}", f"left out: {{number}} files {kind}"
    return (
        (*about, say_number("reading.left_out", len(endings), one, more, endings=some)) if endings else about
    )


def _about_data(names: Sequence[str]) -> tuple[str, ...]:
    text = "left out, since their names say that they describe data: {names}"
    return (say("reading.about_data", text, names=", ".join(names)),) if names else ()


def _of_objects(address: str, reading: Reading) -> tuple[str, list[Opener]]:
    system, root, objects = object_stores.files(address, lambda path: is_read(Path(path)))
    names = [PurePosixPath(entry.path).name for entry in objects]
    opened: list[Opener] = []
    for entry, name, number in zip(objects, names, _numbers(names), strict=True):
        opener = partial(_open_object, reading, system, entry.path, root, number)
        opened.append(FileOpener(open=opener, name=name, size=entry.size))
    return (names[0] if len(objects) == 1 else f"{len(objects)} files"), opened


def _numbers(names: Sequence[str]) -> list[str]:
    """Folders are not named: they may be people's names."""
    often = Counter(names)
    numbers = (f" (file {number:,} of {len(names):,}, by path)" for number in range(1, len(names) + 1))
    return [number if often[name] > 1 else "" for name, number in zip(names, numbers, strict=True)]


@contextmanager
def _numbered(name: str, number: str = "") -> Iterator[None]:
    """Add the number of the file to messages about it, and say what failures of libraries mean."""
    try:
        yield
    except InputError as error:
        if not number or type(error) is not InputError:
            raise
        raise InputError(error.cli_message.replace(name, f"{name}{number}", 1)) from error
    except PermissionError:
        raise
    except BaseException as error:
        # libraries in Rust panic where their authors expected no damage
        is_known = isinstance(error, (pa.ArrowException, OSError, UnicodeError))
        if not is_known and type(error).__name__ != "PanicException":
            raise
        raise InputError(f"{name}{number} is damaged and cannot be read to its end; copy it again") from error


def _open_numbered(name: str, open_table: Opener, number: str = "") -> Table:
    with _numbered(name, number):
        table = open_table()

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        with _numbered(table.name, number):
            yield from table.batches(columns)

    return replace(table, batches=batches)


def _open_noted(reading: Reading, open_table: Opener) -> Table:
    return note_unused_settings(open_table(), reading)


def _open(reading: Reading, path: Path, root: Path, number: str = "") -> Table:
    try:
        table = _open_numbered(path.name, partial(open_file, path, reading), number)
    except OSError as error:
        raise InputError(f"{path.name} cannot be opened: {error.strerror}") from error
    within = path.relative_to(root) if path.is_relative_to(root) else Path(path.name)
    return _with_folders(replace(table, place=table.place or str(path.resolve())), within, reading)


def _open_object(reading: Reading, system: Any, path: str, root: str, number: str) -> Table:
    within = PurePosixPath(path).relative_to(root)
    opened = partial(object_stores.open_object, system, path, partial(open_file, reading=reading))
    table = _open_numbered(within.name, opened, number)
    owners = tuple(replace(owner, place=path) for owner in table.owners)
    return _with_folders(replace(table, place=path, owners=owners), within, reading)


def _with_folders(table: Table, within: PurePath, reading: Reading) -> Table:
    """Add columns with the values of folders' names, and with the file where it is asked for or a person."""
    constants = dict(part.split("=", 1) for part in within.parts[:-1] if part.count("=") == 1)
    if "file" in {reading.id, reading.person} and "file" not in table.columns:
        table = add_file_column(table)
    if table.owners:
        constants["path"] = within.as_posix()
        table = replace(table, added=table.added | {"path"})
    return add_constants(table, constants) if constants else table
