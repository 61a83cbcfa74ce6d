"""Archives (zip and tar) and standard input, copied into a private folder while read.

Exports of Strava, Dawarich and Google belong to one person: only activities, ``data.json``, or the Timeline
are read.
"""

import gzip
import json
import re
import shutil
import weakref
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

from shoal.errors import InputError
from shoal.io.columns.owners import stem_of
from shoal.io.formats import plt_files
from shoal.io.formats.input_table import Owner, Table, add_constants, bind_folder, folder_for_a_copy
from shoal.io.formats.packed_files import zip_of_tar
from shoal.io.formats.row_files import BROKEN_ARCHIVE, explain_damage
from shoal.io.formats.table import ARCHIVE, ARCHIVES, is_about_data, is_hidden
from shoal.io.toml_tables import recognize

_BLOCK: Final = 1 << 20
_DAWARICH: Final = "data.json"
_DAWARICH_START: Final = re.compile(rb'\{\s*"counts"\s*:')
_LOOKED_AT: Final = 256


@dataclass(frozen=True)
class Archive:
    """A zip archive, or a private copy that goes with this object: it lives as long as its members."""

    path: Path


def open_archive(path: Path) -> Archive:
    """The archive; of tar a copy as zip."""
    try:
        path.open("rb").close()
    except OSError as error:
        raise InputError(f"{path.name} cannot be opened: {error.strerror}") from error
    if path.name.lower().endswith(ARCHIVE):
        return Archive(path)
    with folder_for_a_copy() as folder:
        archive = Archive(zip_of_tar(path, folder))
        weakref.finalize(archive, shutil.rmtree, folder, ignore_errors=True)
    return archive


def members(path: Path, reads: Callable[[Path], bool]) -> tuple[dict[str, int], list[str]]:
    """The files to read with their unpacked bytes, and the names of those that describe data."""
    damaged = f"{path.name} is not a whole zip archive, or of an unknown version; copy or pack it again"
    with explain_damage(damaged, *BROKEN_ARCHIVE, OSError), zipfile.ZipFile(path) as archive:
        inside = [member for member in archive.infolist() if not member.is_dir()]
        names = [member.filename for member in inside]
        is_strava, is_dawarich = _is_strava(names), _is_dawarich(archive)
    read = sorted(name for name in names if reads(Path(name)))
    labels = plt_files.labels(map(PurePosixPath, read))
    selected = [name for name in read if PurePosixPath(name) not in labels]
    selected = [name for name in selected if not is_about_data(Path(name))] or selected
    about = sorted({Path(name).name for name in names if is_about_data(Path(name)) and name not in selected})
    inner = [name for name in names if name.lower().endswith(ARCHIVES) and not is_hidden(Path(name))]
    if is_strava:
        selected = [name for name in selected if name.startswith("activities/")]
    if is_dawarich:
        selected = [_DAWARICH]
    timeline = [name for name in selected if PurePosixPath(name).name in {"Records.json", "Timeline.json"}]
    selected = timeline or selected
    if inner and not (is_strava or is_dawarich or timeline):
        raise InputError(
            f"{path.name} holds another archive, {Path(inner[0]).name}, whose files would be left out; "
            f"unpack {path.name} into a folder, and name that"
        )
    if not selected:
        raise InputError(f"{path.name} holds no file that shoal reads")
    sizes = {member.filename: member.file_size for member in inside}
    if len(set(selected)) < len(selected):
        twice = next(member for member, later in pairwise(selected) if member == later)  # they are sorted
        raise InputError(
            f"{path.name} holds two files of one name, {Path(twice).name}, of which only one could be read; "
            "pack it anew"
        )
    return {name: sizes[name] for name in selected}, about


def open_member(whole: Archive, member: str, open_file: Callable[[Path, Path], Table]) -> Table:
    """One file of an archive. open_file: takes the unpacked file and the folder of the archive."""
    path = whole.path
    with folder_for_a_copy() as folder:
        inner = folder / stem_of(path.name) / member
        if not inner.resolve().is_relative_to(folder.resolve()):
            raise InputError(f"{path.name} holds a file outside itself; it is not read")
        damaged = f"{path.name} is damaged or needs a password: {Path(member).name} cannot be read"
        with explain_damage(damaged, *BROKEN_ARCHIVE, OSError), zipfile.ZipFile(path) as archive:
            parts = _parts_of(member, archive.namelist())
            need = sum(archive.getinfo(part).file_size for part in parts)
            if need > shutil.disk_usage(folder).free:
                raise InputError(f"{path.name} unpacks to more than the disk for temporary files holds")
            inner.parent.mkdir(parents=True, exist_ok=True)
            for part in parts:
                with archive.open(part) as packed, inner.with_name(Path(part).name).open("wb") as file:
                    shutil.copyfileobj(packed, file, _BLOCK)
            of_one_person = _is_strava(archive.namelist()) or _is_dawarich(archive)
        table = bind_folder(open_file(inner, folder / stem_of(path.name)), folder)
    inside, place = str(folder.resolve()), f"{path.resolve()}!"
    owners = tuple(replace(one, place=place + one.place.removeprefix(inside)) for one in table.owners)
    if not of_one_person:
        return replace(table, owners=owners, place=place + member)
    owner = Owner(column="uid", value=stem_of(path.name), place=str(path.resolve()), what="export")
    columns = tuple(name for name in table.columns if name != "uid")
    return add_constants(replace(table, columns=columns, owners=(owner,)), {"uid": owner.value})


def _parts_of(member: str, names: Sequence[str]) -> list[str]:
    """The files that are read with this one: those of a Shapefile, which lie beside it."""
    if not member.lower().endswith(".shp"):
        return [member]
    of_member = Path(member).with_suffix("")
    return [name for name in names if Path(name).with_suffix("") == of_member and not name.endswith("/")]


def open_stream(stream: BinaryIO, open_file: Callable[[Path, Path], Table]) -> Table:
    """Standard input; its first bytes tell the format."""
    with folder_for_a_copy() as folder:
        raw = folder / "input"
        with raw.open("wb") as file:
            shutil.copyfileobj(stream, file, _BLOCK)
        if raw.stat().st_size == 0:
            raise InputError("standard input is empty")
        named = raw.rename(folder / f"standard input{_ending_of(raw)}")
        return bind_folder(open_file(named, folder), folder)


def _ending_of(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(4096)
    packed = ""
    if start.startswith(b"\x1f\x8b"):
        packed = ".gz"
        damaged = "standard input is not whole gzip data; copy it again"
        with explain_damage(damaged, OSError), gzip.open(path) as file:
            start = file.read(4096)
    if start.startswith(b"PK\x03\x04"):
        with path.open("rb") as file:
            end = file.read()
        ending = recognize("standard_input_archives", end, anywhere=True)
        if ending is None:
            raise InputError("standard input is an archive of several files; save it, and give its path")
        return ending
    return recognize("standard_input", start) or f"{_text_ending(start)}{packed}"


def _text_ending(start: bytes) -> str:
    text = start.lstrip(b"\xef\xbb\xbf \r\n\t")
    if text.startswith(b"<"):
        return recognize("standard_input_roots", text, anywhere=True) or ".csv"
    if text.startswith(b"["):
        return ".json"
    if not text.startswith(b"{"):
        return ".csv"
    first, _, rest = text.partition(b"\n")
    try:
        json.loads(first)
    except ValueError:
        return ".json"
    return ".jsonl" if rest.strip() else ".json"


def _is_strava(names: Sequence[str]) -> bool:
    return "activities.csv" in names and any(name.startswith("activities/") for name in names)


def _is_dawarich(archive: zipfile.ZipFile) -> bool:
    if _DAWARICH not in archive.namelist():
        return False
    try:
        with archive.open(_DAWARICH) as file:
            return bool(_DAWARICH_START.match(file.read(_LOOKED_AT)))
    except BROKEN_ARCHIVE:
        return False  # whoever reads the member says what is wrong
