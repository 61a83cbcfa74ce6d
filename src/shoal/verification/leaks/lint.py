"""Search a release folder for what it says about people or the machine."""

import getpass
import json
import platform
import re
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shoal.errors import InputError
from shoal.model.intake import Reading
from shoal.model.release import BOX_COLUMNS, DEGREE_COLUMNS, POINT_COLUMNS
from shoal.model.verdicts import Finding, Verdict
from shoal.release_folder.files import has_attributes, is_public
from shoal.release_folder.manifest import (
    MANIFEST_FILE,
    RELEASE_FILE,
    REPORT_FILE,
    EarlierRelease,
    LossesJson,
    Manifest,
    Statement,
)
from shoal.units import counted
from shoal.verification.files.layout import layout_findings
from shoal.verification.leaks.active_pages import is_active
from shoal.verification.leaks.digests import find_hashed_names, hash_like_words
from shoal.verification.leaks.glued import count_glued
from shoal.verification.leaks.identifiers import Names, picture_text, searchable_text
from shoal.verification.leaks.raw_identifiers import RawIdentifiers

_FILES: Final = (RELEASE_FILE, MANIFEST_FILE, REPORT_FILE)
_KNOWN_COLUMNS: Final = frozenset(
    {"trajectory_id", "geometry", *BOX_COLUMNS, *POINT_COLUMNS, *DEGREE_COLUMNS}
)
_MANIFEST_KEYS: Final = frozenset(
    {
        *Manifest.model_fields,
        *LossesJson.model_fields,
        *Reading.__dataclass_fields__,
        *Statement.model_fields,
        *EarlierRelease.model_fields,
        *Verdict.of((), checked=1).to_json(),
        *("type", "kind", "message", "trajectory_id"),
    }
)
# sections of whole sentences and reasons
_PROSE: Final = frozenset({"losses", "rows_repaired", "verdict", "unit_of_protection", "record"})
_PLAIN_WORD: Final = re.compile(r"[a-z]+([-_][a-z]+)*")
_PRIVATE_PATH: Final = re.compile(
    r"(?<![\w.])/(?:home|Users|root)/[^\s/<]|\b[A-Za-z]:\\+Users\\", re.IGNORECASE
)
_CELLS: Final = re.compile(r'[,;\t\n\r"|]+')
_LARGEST_READ: Final = 1 << 24
_MOST_FILES: Final = 1000
_MOST_ROWS: Final = 1_000_000
_LONGEST_SHOWN: Final = 200


@dataclass(frozen=True)
class _Place:
    where: str
    alone: frozenset[str]  # names that no format fixes, each compared whole with every identifier
    strings: frozenset[str]  # possible hashes
    text: str  # everything as running text
    seeds: int = 0  # number of keys that name a seed

    @classmethod
    def of(cls, where: str, strings: Iterable[str], text: str | None = None) -> "_Place":
        """All strings alone, and as running text where it is no other."""
        every = frozenset(strings)
        return cls(where, every, every, searchable_text("\n".join(every)) if text is None else text)


def leak_findings(
    raw_identifiers: RawIdentifiers,
    folder: Path,
    schema: pa.Schema,
    table: pa.Table,
    footer: pq.FileMetaData,
    manifest: Manifest,
    *,
    in_degrees: bool,
) -> Iterator[Finding]:
    """Findings about a readable folder; none shows what was found."""
    strange = (path for path in folder.rglob("*") if path.relative_to(folder).as_posix() not in _FILES)
    extra_files = sorted(islice(strange, _MOST_FILES))
    columns = expected_columns(manifest, in_degrees=in_degrees)
    extra_columns = [column for column in schema.names if column not in columns]
    places = [
        _manifest_place(folder / MANIFEST_FILE),
        _metadata_place(footer, schema),
        *(_searched_column(table, column) for column in extra_columns),
        *chain.from_iterable(_extra_file_places(path) for path in extra_files),
    ]
    file = folder / REPORT_FILE
    page = file.read_bytes().decode("utf-8", "replace") if file.is_file() else None
    if page is not None:
        text = "\n".join([searchable_text(page), searchable_text(picture_text(page))])
        places.append(_Place.of(REPORT_FILE, (), text))
    titles = [*extra_columns, *(path.name for path in extra_files)]
    names = raw_identifiers.relevant_names(
        chain(titles, (Path(title).stem for title in titles), *(place.alone for place in places)),
        chain(titles, (place.text for place in places)),
    )
    for column in extra_columns:
        yield Finding(
            "unexpected-column",
            f"{RELEASE_FILE} has the column {_safe_name(column, names)}; "
            f"only {', '.join(columns)} belong there",
        )
    stored = [column for column in footer.schema.names if column in columns]
    if stored != [column for column in columns if column in stored]:
        yield Finding("unexpected-column", f"the columns of {RELEASE_FILE} stand in another order")
    for path in extra_files:
        yield Finding(
            "unexpected-file",
            f"the folder holds {_safe_name(path.name, names)}; only {', '.join(_FILES)} belong there",
        )
    yield from unexpected_attributes([folder, *(folder / name for name in _FILES)])
    if page is not None and not is_public(page):
        yield Finding(
            "private-page",
            f"{REPORT_FILE} lacks the mark of a page for publication; it may show the raw data",
        )
    if page is not None and is_active(page):
        yield Finding(
            "active-page",
            f"{REPORT_FILE} holds a script, a form, or an address that a browser opens; expected none",
        )
    could_be_hashes = [place.strings | frozenset(hash_like_words(place.text)) for place in places]
    hashed = find_hashed_names(raw_identifiers.digests, chain.from_iterable(could_be_hashes))
    # a user name may equal a typeface
    machine = replace(Names.of(_machine_names()), enclosed=frozenset())
    private_path = _private_paths(folder)
    inside = count_glued(raw_identifiers.kinds, ["\n".join([place.text, *place.alone]) for place in places])
    for place, n_inside, like_hashes in zip(places, inside, could_be_hashes, strict=True):
        n_raw = len(place.alone & names.whole) + names.in_text(place.text)
        n_hashed = len(hashed & like_hashes)
        if n_raw or n_hashed:
            message = f"{place.where}: {n_raw} raw identifiers and {n_hashed} plain hashes of raw identifiers"
            yield Finding("raw-identifier", message)
        elif n_inside:
            yield Finding("raw-identifier", f"{place.where}: {n_inside} raw identifiers inside longer words")
        if place.alone & machine.whole or machine.in_text(place.text) or private_path.search(place.text):
            yield Finding("metadata", f"{place.where}: names this machine, its user, or a path on it")
        if place.seeds:
            yield Finding("seed", f"{place.where}: a key names a seed; leave it out")


def unexpected_attributes(paths: Iterable[Path]) -> Iterator[Finding]:
    """A finding when files, or their folder, carry attributes."""
    if n := sum(path.exists() and has_attributes(path) for path in paths):
        files = counted(n, "file or folder carries", "files or folders carry")
        yield Finding("unexpected-file", f"{files} extended attributes beside its bytes; expected none")


def expected_columns(manifest: Manifest, *, in_degrees: bool) -> list[str]:
    """The columns of a table, by plane and degrees."""
    payload_columns = (
        BOX_COLUMNS if manifest.grid is not None else (*POINT_COLUMNS, *DEGREE_COLUMNS * in_degrees)
    )
    return ["trajectory_id", *payload_columns, *["geometry"] * (manifest.crs is not None)]


def _manifest_place(path: Path) -> _Place:
    """What its format does not fix.

    Plain words may equal an identifier by chance: in parameters and settings only distinctive ones count,
    in names of methods, claims and parameters none.
    """
    alone: set[str] = set()
    strings: set[str] = set()
    numbers: list[str] = []
    seeds = 0
    for key, value, top in _walk(json.loads(path.read_bytes(), object_pairs_hook=tuple), None):
        known_section = top in _MANIFEST_KEYS
        is_free = not known_section or top in _PROSE
        if key is not None and key not in _MANIFEST_KEYS:
            seeds += "seed" in key.casefold() and top != "parameters"
            if is_free:
                alone.add(key)
            if not (top == "parameters" and _PLAIN_WORD.fullmatch(key)):
                strings.add(key)
        if isinstance(value, str):
            if is_free or (top == "parameters" and not _PLAIN_WORD.fullmatch(value)):
                alone.add(value)
            if not (top in {"method", "claim"} and _PLAIN_WORD.fullmatch(value)):
                strings.add(value)
        elif isinstance(value, (int, float)) and (not known_section or top == "parameters"):
            numbers.append(f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value))
    text = searchable_text("\n".join([*sorted(strings), *numbers]))
    return _Place(MANIFEST_FILE, frozenset(alone), frozenset(strings), text, seeds)


def _walk(node: Any, section: str | None) -> Iterator[tuple[str | None, Any, str | None]]:
    pairs: Any = node if isinstance(node, tuple) else [(None, item) for item in node]
    for key, value in pairs:
        top = key if section is None else section
        if isinstance(value, (tuple, list)):
            yield key, None, top
            yield from _walk(value, top)
        else:
            yield key, value, top


def _metadata_place(footer: pq.FileMetaData, schema: pa.Schema) -> _Place:
    sources = [footer.metadata or {}, schema.metadata or {}, *(field.metadata or {} for field in schema)]
    items = chain.from_iterable(entries.items() for entries in sources)
    pairs = [(key.decode("utf-8", "replace"), value.decode("utf-8", "replace")) for key, value in items]
    alone = frozenset(chain.from_iterable(pairs))
    columns = [column for column in schema.names if column not in _KNOWN_COLUMNS]
    text = searchable_text("\n".join([*alone, *columns, footer.created_by or ""]))
    seeds = sum("seed" in key.casefold() for key, _ in pairs)
    return _Place(f"metadata of {RELEASE_FILE}", alone | frozenset(columns), alone, text, seeds)


def _searched_column(table: pa.Table, column: str) -> _Place:
    values = table[column]
    try:
        texts = frozenset(pc.unique(values.cast(pa.string())).drop_null().to_pylist())
    except pa.ArrowException:
        texts = frozenset(str(value) for value in values.to_pylist() if value is not None)
    return _Place.of("a column that does not belong there", texts)


def _extra_file_places(path: Path) -> Iterator[_Place]:
    yield _Place.of("the name of a file", (path.name, path.stem), path.name)
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST_READ:
        return
    try:
        content = path.read_bytes()
    except OSError:
        return
    try:
        layout_findings(content)  # refuse files that unpack to far more than their size
        rows = pq.read_metadata(pa.BufferReader(content)).num_rows
        table = pq.read_table(pa.BufferReader(content)) if rows <= _MOST_ROWS else pa.table({})
        yield from (_searched_column(table, column) for column in table.column_names)
    except (InputError, pa.ArrowException, OSError, ValueError, KeyError):
        text = content.decode("utf-8", "replace")
        cells = (cell.strip() for cell in _CELLS.split(text))
        yield _Place.of("the content of a file that does not belong there", cells, searchable_text(text))


def _machine_names() -> Iterator[str]:
    for host in (socket.gethostname(), platform.node()):
        yield from (host, host.partition(".")[0])
    try:
        yield getpass.getuser()
    except (OSError, KeyError, ImportError):  # no name, in a container or on a system without a user table
        return


def _private_paths(folder: Path) -> re.Pattern[str]:
    folders = {path.resolve() for path in (Path("~").expanduser(), Path.cwd(), folder.parent)}
    patterns = [re.escape(path.as_posix()) for path in folders if len(path.parts) > 2]
    return re.compile(
        "|".join([_PRIVATE_PATH.pattern, *(rf"(?<![\w.]){path}(?![\w-])" for path in patterns)]),
        re.IGNORECASE,
    )


def _safe_name(name: str, names: Names) -> str:
    if name in names.whole or Path(name).stem in names.whole or names.in_text(name):
        return "(not shown: its name holds a raw identifier)"
    if name.isprintable() and len(name) <= _LONGEST_SHOWN:
        return f"'{name}'"
    return "(not shown: its name is long, or holds what no terminal should see)"
