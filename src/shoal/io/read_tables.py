"""The tables of a source, in order or in pieces for tasks.

Units and signs are recognized once. So a piece is read with the decisions of the pieces before it; when it
decides something itself, later pieces are read again.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pyarrow as pa

from shoal.errors import InputError
from shoal.io.columns import presets
from shoal.io.columns.cell_positions import prepare_table
from shoal.io.columns.column_names import NAMES, find_columns
from shoal.io.columns.meanings import TimeNeighbors, unit_of_time, zone_in_name
from shoal.io.columns.owners import may_be_at_sea, require_person
from shoal.io.columns.positions import Positions
from shoal.io.columns.times import Times
from shoal.io.formats.input_table import Table, table_of_batches
from shoal.io.reading_state import Keep, ReadingState, read_batch
from shoal.io.sources.openers import FileOpener, Opener, openers, skip_blank
from shoal.messages import say, say_number
from shoal.model.intake import DEGREES_IGNORED, Reading
from shoal.runtime.run import Run

STEPS: Final = 1000
_APART_BYTES: Final = 1 << 23  # of files, in a piece; about a million rows of Parquet
_ASKED_AT_ONCE: Final = 8  # files for their parts: a store takes long to answer
_MOST_FAILURES: Final = 3  # times in a row that others could not read the next piece, and this process could


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Tables to read in order, or a part of one."""

    tables: tuple[Opener, ...]
    part: range | None = None


Progress = Callable[[float], None]  # takes the share that is done
TaskReader = Callable[[ReadingState, Reading, Sequence[Piece]], Iterator[ReadingState]]
"""Reads pieces with what was decided before them, and gives the accounts of those that decide nothing."""


def read_tables(
    source: object, reading: Reading, run: Run, keep: Keep, read_in_tasks: TaskReader | None
) -> ReadingState:
    """Read and clean all tables; the first decides the columns."""
    name, every = openers(source, reading)
    waiting = skip_blank(every)
    pieces = [Piece(tables=tuple(waiting))] if read_in_tasks is None else _pieces_of(waiting, reading)
    state: ReadingState | None = None
    done = failures = 0

    def progress(share: float) -> None:
        run.progress(f"reading {name}", int(STEPS * (done + share) / len(pieces)), STEPS)

    while done < len(pieces):
        state = read_piece(name, pieces[done], state, reading, keep, progress)
        done += 1
        progress(0.0)
        if state is None or read_in_tasks is None or done == len(pieces) or failures == _MOST_FAILURES:
            continue
        failures += 1
        for later in read_in_tasks(state, reading, pieces[done:]):
            state.join(later)
            done, failures = done + 1, 0
            progress(0.0)
    if state is None:
        raise InputError(f"there is nothing to read in {name}")
    number = f"{len(every):,}"
    files_in_words = say("amount.files", "{number} files", number=number)
    if not name.endswith(" files"):
        files_in_words = say("amount.files_of", "{number} files of {name}", number=number, name=name)
    if state.rows_read == 0:
        nothing = f"none of the {files_in_words} holds a row"
        raise InputError(f"{name} holds no rows, only column names" if len(every) == 1 else nothing)
    state.empty_tables += len(every) - len(waiting)
    if state.empty_tables:
        one, more = "{number} of {files} holds no rows", "{number} of {files} hold no rows"
        note = say_number("reading.empty_files", state.empty_tables, one, more, files=files_in_words)
        state.notes.append(note)
    if {"numbers", "text"} <= state.people.kinds.keys():
        text = "ids are numbers in one place and text in another; they are compared as text"
        state.notes.append(say("reading.mixed_ids", text))
    return state


def read_piece(
    name: str, piece: Piece, state: ReadingState | None, reading: Reading, keep: Keep, progress: Progress
) -> ReadingState | None:
    """Read and clean a piece. reading: as the caller gave it."""
    for position, opener in enumerate(piece.tables):
        progress(position / len(piece.tables))
        settings = reading if state is None else replace(state.reading, cells=reading.cells)
        table, filled = prepare_table(opener(), settings)
        if piece.part is not None:
            table.parts[:] = [piece.part]
        if state is None:
            state = _decide_columns(name, table, filled, named=reading)
        else:
            _require_same_layout(table, state, reading)
        state.owners.add(table, state.columns.person)
        rows_before = state.rows_read
        is_whole = piece.part is None or piece.part.start == 0
        state.first_rows.append((state.people.rows, table.name if table.numbered and is_whole else ""))
        for share, batch in table.batches(state.columns.wanted()):
            read_batch(state, table, batch, keep)
            progress((position + share) / len(piece.tables))
        state.dropped.update(table.unreadable)
        for reason, line in table.first_lines.items():
            if line:
                state.examples.setdefault(reason, f"line {line:,} of {table.name}")
        state.rows_read += sum(table.unreadable.values())
        state.repaired.update(table.repaired)
        state.notes += table.notes
        state.empty_tables += state.rows_read == rows_before
    return state


def columns_drawn(name: str, schema: pa.Schema, reading: Reading) -> list[str]:
    """The columns that the reading needs: those read, those that show a preset, and unused positions."""
    drawn: list[str] = []

    def read(columns: Sequence[str]) -> Iterable[pa.RecordBatch]:
        drawn.extend(columns)
        return ()

    whole = table_of_batches(name, schema, read)
    table, filled = prepare_table(whole, reading)
    chosen = find_columns(table, filled)
    list(table.batches(chosen.wanted()))
    preset = None if filled.preset is None else presets.get_preset(filled.preset)
    known_by = set() if preset is None else {*(preset.header or ()), *map(str.lower, preset.fields)}
    known_by |= {usual for role in ("lat", "lon", "x", "y") for usual in NAMES[role]}
    geometry = None if whole.geometry is None else whole.geometry.column
    needed = {*drawn, chosen.id, geometry}
    return [name for name in schema.names if name in needed or name.strip().lower() in known_by]


def _pieces_of(waiting: Sequence[Opener], reading: Reading) -> list[Piece]:
    """The first is small, as no task runs meanwhile."""
    apart = [opener for opener in waiting if isinstance(opener, FileOpener) and opener.apart]
    if reading.per_day or len(apart) < len(waiting):
        return [Piece(tables=tuple(waiting))]
    with ThreadPoolExecutor(_ASKED_AT_ONCE) as asking:
        parts_of = list(asking.map(_parts_of, apart))
    pieces: list[Piece] = []
    small: list[Opener] = []
    total_bytes = 0
    for opener, parts in zip(apart, parts_of, strict=True):
        size = opener.size
        if small and (len(parts) > 1 or total_bytes + size > _APART_BYTES or not pieces):
            pieces.append(Piece(tables=tuple(small)))
            small, total_bytes = [], 0
        if len(parts) > 1:
            pieces += [Piece(tables=(opener,), part=part) for part in parts]
        else:
            small.append(opener)
            total_bytes += size
    return [*pieces, *([Piece(tables=tuple(small))] if small else [])]


def _parts_of(opener: FileOpener) -> list[range]:
    try:
        return opener.parts() if opener.size >= _APART_BYTES else []
    except InputError:  # told when its turn comes
        return []


def _decide_columns(name: str, table: Table, reading: Reading, *, named: Reading) -> ReadingState:
    """named: settings of the caller."""
    columns = find_columns(table, reading)
    of_several = name.endswith(" files")
    doubts = require_person(table, columns.person, named, columns.home, of_several=of_several)
    by_format = reading.preset is not None or any(owner.column == columns.person for owner in table.owners)
    are_named = any(getattr(named, role) is not None for role in ("lat", "lon", "x", "y"))
    sure = by_format or columns.geometry is not None or may_be_at_sea(columns.person)
    positions = Positions(columns, reading, table.name, named=are_named, sure=sure)
    filled = replace(
        reading,
        id=columns.id,
        time=columns.time,
        lat=columns.second if columns.angles else None,
        lon=columns.first if columns.angles else None,
        x=columns.first if not columns.angles and not columns.geometry else None,
        y=columns.second if not columns.angles and not columns.geometry else None,
        crs=None if columns.angles else positions.crs or "local",
        cell_id=None if reading.cells is None else reading.cell_id,
        places_are_public=reading.places_are_public and reading.places is not None,
        places_sha256=None if reading.places is None else reading.places_sha256,
        sensitive_sha256=None if reading.sensitive is None else reading.sensitive_sha256,
        cells=None if reading.cells is None else Path(reading.cells).name,  # a manifest holds no folders
        places=None if reading.places is None else Path(reading.places).name,
        sensitive=None if reading.sensitive is None else Path(reading.sensitive).name,
    )
    times = Times(reading.time_unit, reading.time_format, reading.time_zone)
    if reading.preset is None:
        times.beside = TimeNeighbors(
            table.columns, replace(columns, signs=((), ()), beside=(), flags=()).wanted()
        )
        times.named_unit, times.zone_in_name = unit_of_time(columns.time), zone_in_name(columns.time)
    state = ReadingState(
        name=name, columns=columns, positions=positions, reading=filled, times=times, doubts=doubts
    )
    if positions.crs is None and columns.alternative == "columns of degrees":
        why = ": nothing shows that {first} and {second} are meters; read the degrees instead"
        text = DEGREES_IGNORED + why
        note = say("reading.degrees_ignored", text, first=columns.first, second=columns.second)
        state.notes.append(note)
    elif columns.alternative:
        text = "positions are read from {columns}; left aside: the {others} of {file}"
        pair = (columns.second, columns.first) if columns.angles else (columns.first, columns.second)
        used, others = f"{pair[0]} and {pair[1]}", columns.alternative
        state.notes.append(say("reading.left_aside", text, columns=used, others=others, file=table.name))
    return state


def _require_same_layout(table: Table, state: ReadingState, reading: Reading) -> None:
    columns, before = find_columns(table, state.reading), state.columns
    if columns.angles != before.angles or (columns.geometry is None) != (before.geometry is None):
        raise InputError(
            f"{table.name} gives positions in other columns than the files before it; name the columns, or "
            "read them apart"
        )
    crs = columns.geometry and (columns.geometry.crs or "local")
    if crs is not None and reading.crs is None and crs != state.reading.crs:
        raise InputError(
            f"{table.name} is in another coordinate reference system than the files before it; give one for "
            "all with --crs"
        )
    state.columns = columns
