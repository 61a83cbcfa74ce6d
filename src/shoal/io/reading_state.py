"""The state of a reading: decisions about columns and units, and counts."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError
from shoal.io import cleaning
from shoal.io.cleaning import Sieve, TimeOrder
from shoal.io.columns.at_once import FEW, PlacesAtOnce, SharedIds
from shoal.io.columns.column_names import Columns
from shoal.io.columns.look_alikes import find_look_alikes, texts_of
from shoal.io.columns.owners import MAY_BE_GENERATED, UNITS, Doubts, Owners
from shoal.io.columns.positions import Positions
from shoal.io.columns.public_places import ListedPlaces
from shoal.io.columns.time_numbers import DATE_OF_FILE, unit_of_this_time
from shoal.io.columns.time_text import SECOND, Micros
from shoal.io.columns.times import DAY, Times, with_date
from shoal.io.columns.values import ALL_DIGITS, LOST_DIGITS, LOST_LETTERS, ZEROS, Codes, Names, plain
from shoal.io.formats.input_table import NO_OBJECT, WRONG_FIELDS, Table
from shoal.io.snapping import Rows
from shoal.messages import Message, say, say_number
from shoal.model.grid import Grid
from shoal.model.intake import OUT_OF_ORDER, Intake, Reading
from shoal.model.places import PublicPlaces
from shoal.units import counted

LAST_S: Final = 253_402_300_799.0  # the end of the year 9999, the last that dates can be written in
_FAR_DEG: Final = 30.0  # two hours
_UNSURE: Final = say("advice.unsure", "check which columns are meant")
_NO_ID: Final = say(
    "advice.no_id", "rows without an id may be of other people: name another column with --id"
)
_HINTS: Final[dict[str, Message]] = {
    cleaning.BAD_TIME: say("advice.bad_time", "write times as 2024-05-01T10:00:00Z or as seconds since 1970"),
    cleaning.FUTURE: say(
        "advice.future", "the unit of the times may be another one: give it with --time-unit"
    ),
    cleaning.OUTSIDE: say(
        "advice.outside",
        "the declared --crs may be another one, such as EPSG:4647 for eastings with their zone in front",
    ),
    cleaning.EMPTY_ID: _NO_ID,
    cleaning.NO_PERSON: _NO_ID,
    WRONG_FIELDS: say(
        "advice.wrong_fields",
        "such lines may hold whole people: look at their quotation marks and delimiters",
    ),
}
_MANY_ROWS: Final = 10  # that may not have an id each by chance
_GENERATED: Final = 24  # characters of an id that a program makes
_FEW: Final = 0.01  # of the people may have no usable row
_HALF: Final = 0.5  # of the rows may have no id
_SHOWN: Final = 2  # ids whose rows a message names

Keep = Callable[[Rows, Sequence[str]], None]  # takes rows, and the id of each of their codes


@dataclass(kw_only=True)
class ReadingState:
    """Decisions and counts. plane, listed, sensitive: known after the last row."""

    name: str
    columns: Columns
    positions: Positions
    reading: Reading
    times: Times
    units: Names = field(default_factory=Names)
    people: Names = field(default_factory=lambda: Names(people=True))
    order: TimeOrder = field(default_factory=TimeOrder)
    owners: Owners = field(default_factory=Owners)
    doubts: Doubts = field(default_factory=Doubts)
    homes: dict[str, str] = field(default_factory=dict)  # of each person
    at_once: PlacesAtOnce = field(default_factory=PlacesAtOnce)
    shared: SharedIds = field(default_factory=SharedIds)
    plane: str | None = None
    listed: ListedPlaces | None = None
    sensitive: PublicPlaces | None = None
    rows_read: int = 0
    rows_kept: int = 0
    people_read: int = 0
    people_lost: int = 0
    empty_tables: int = 0
    # of each table, as people counts them, and its name, empty where rows are not those of the file
    first_rows: list[tuple[int, str]] = field(default_factory=list)
    examples: dict[str, str] = field(default_factory=dict)  # the first row or line dropped, by reason
    dropped: Counter[str] = field(default_factory=Counter)
    repaired: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    @property
    def grid(self) -> Grid | None:
        """The grid, None for points without one."""
        return Grid(cell_m=self.reading.cell_m, slot_s=self.reading.slot_s) if self.reading.snap else None

    @property
    def decided(self) -> tuple[Any, ...]:
        """Decisions for all later rows."""
        return self.times.decided, self.positions.decided

    def without_counts(self) -> "ReadingState":
        """The same decisions, empty counts."""
        return ReadingState(
            name=self.name,
            columns=self.columns,
            positions=self.positions.without_counts(),
            reading=self.reading,
            times=self.times.without_counts(),
            doubts=self.doubts,
        )

    def forget_names(self) -> None:
        """Continue without the names of people; counts stay."""
        self.people_read = len(self.people.texts)
        before, late = self.people, self.order.rows
        self.people, self.order, self.first_rows = Names(people=True), TimeOrder(), []
        self.people.kinds, self.people.rows_with_blanks = before.kinds, before.rows_with_blanks
        self.order.rows = late
        self.units = self.people

    def join(self, later: "ReadingState") -> None:
        """Add the counts of later rows, without their names."""
        self.owners.join(later.owners)
        self.at_once.join(later.at_once)
        self.add_homes(later.homes.items())
        self.shared.join(later.shared)
        self.columns = later.columns
        self.positions.join(later.positions)
        self.times.join(later.times)
        self.people.kinds = later.people.kinds | self.people.kinds
        self.people.rows_with_blanks += later.people.rows_with_blanks
        self.order.rows += later.order.rows
        self.rows_read, self.rows_kept = self.rows_read + later.rows_read, self.rows_kept + later.rows_kept
        self.empty_tables += later.empty_tables
        self.dropped.update(later.dropped)
        self.examples = later.examples | self.examples
        self.repaired.update(later.repaired)
        self.notes += later.notes

    def add_homes(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Ask where somebody is in several households: people are counted within each."""
        if any(self.homes.setdefault(person, home) != home for person, home in pairs):
            raise InputError(self.doubts.homes)

    def intake(self, duplicates: int) -> Intake:
        """The account. duplicates: rows without a new sample."""
        repaired = {
            cleaning.BLANKS: self.people.rows_with_blanks,
            OUT_OF_ORDER: self.order.rows,
            cleaning.NAIVE: 0 if self.reading.time_zone else self.times.naive,
            cleaning.LOCAL_METERS: self.rows_kept if self.positions.crs is None else 0,
            cleaning.DECIMAL_COMMA: self.positions.commas.rows,
            cleaning.WRAPPED: self.positions.wrapped,
            cleaning.TWICE: self.times.twice,
            cleaning.NEVER: self.times.never,
            **self.repaired,
        }
        notes = [*self.notes, *self.positions.notes, *self.times.notes(), *self._hours_of_utc()]
        twice = cleaning.DUPLICATE
        if self.grid is not None:
            twice = cleaning.SAME_MINUTE if self.grid.slot_s == 60.0 else cleaning.SAME_SLOT
        return Intake(
            rows_read=self.rows_read,
            people_read=self.people_read,
            people_lost=self.people_lost,
            dropped=dict(self.dropped) | ({twice: duplicates} if duplicates else {}),
            repaired={reason: rows for reason, rows in repaired.items() if rows},
            notes=tuple(dict.fromkeys(notes)),
            unit_of_protection=self._unit_of_protection(),
            reading=self.reading,
        )

    def _unit_of_protection(self) -> Message:
        column = self.columns.person
        unit = UNITS.get(self.owners.what) or say(
            "reading.unit", "each distinct value of column '{column}'", column=column
        )
        if self.reading.per_day:
            return say("reading.unit_per_day", "{unit}, one unit per UTC day", unit=unit)
        return unit

    def _hours_of_utc(self) -> list[str]:
        """UTC may be far from local time, while the report shows hours."""
        longitude = self.positions.middle_lon_deg
        if self.reading.time_zone is not None or self.times.steps:
            return []
        if longitude is None or abs(longitude) < _FAR_DEG:
            return []
        ahead_h = round(longitude / 15.0)  # degrees
        if self.times.naive:
            text = (
                "hours of the day, such as a home's nights, are those of UTC; here it is about UTC{ahead}: "
                "if times without a zone are local, give --time-zone"
            )
            return [say("reading.hours_naive", text, ahead=f"{ahead_h:+d}")]
        text = (
            "hours of the day, such as a home's nights, are those of UTC; here it is about UTC{ahead}: "
            "--time-zone gives local ones"
        )
        return [say("reading.hours", text, ahead=f"{ahead_h:+d}")]

    def place_of(self, row: int) -> str:
        """Where a row is, without lines that are broken; empty if its table has other rows than its file."""
        first, table = max(entry for entry in self.first_rows if entry[0] <= row)
        return table and f"row {row - first + 1:,} of {table}"

    def places_of(self, ids: Sequence[str]) -> str:
        """Where the first two of some ids appear first; empty where that was forgotten."""
        rows = self.people.first_rows_of(ids, _SHOWN)
        places = [place for place in map(self.place_of, rows) if place]
        return f", first in {' and '.join(places)}" if places else ""


def read_batch(state: ReadingState, table: Table, batch: Any, keep: Keep) -> None:
    """Clean one batch and keep its good rows."""
    columns, reading = state.columns, state.reading
    rows_before = state.people.rows
    state.rows_read += batch.num_rows
    sieve = Sieve(batch.num_rows, state.dropped)
    if not reading.per_day:
        state.units = state.people
    code = state.people.codes(batch.column(columns.person), f"column '{columns.person}' of {table.name}")
    sieve.drop(cleaning.EMPTY_ID, code == -1)
    sieve.drop(cleaning.NO_PERSON, code == -2)
    clock = batch.column(columns.time)
    if columns.date:
        clock = with_date(batch.column(columns.date), clock, reading.time_format)
    if state.doubts.homes:
        homes = pc.fill_null(plain(batch.column(columns.home)).cast(pa.string()), "").to_pylist()
        pairs = {(person, home) for person, home in zip(code.tolist(), homes, strict=True) if person >= 0}
        state.add_homes((state.people.texts[person], home) for person, home in sorted(pairs) if home)
    if reading.preset is None:
        state.times.beside.look(batch, columns.beside)
    where = f"column '{columns.time}' of {table.name}"
    t, readable = state.times.microseconds(clock, where)
    sieve.drop(cleaning.BAD_TIME, ~readable)
    sieve.drop(cleaning.BEFORE_1970, t < 0)
    sieve.drop(cleaning.FUTURE, t > int(min(reading.not_after_s or 0.0, LAST_S) * SECOND))
    first, second = state.positions.read(batch, columns, sieve, code, table.name)
    for reason in sieve.first.keys() - state.examples.keys():
        if place := state.place_of(rows_before + sieve.first[reason]):
            state.examples[reason] = place
    if not sieve.good.all():
        code, t, first, second = code[sieve.good], t[sieve.good], first[sieve.good], second[sieve.good]
    state.times.require_one_order(code, t, where)
    state.order.count(code, t)
    if state.doubts.at_once and code.size:
        state.at_once.add(code, t, first, second, degrees=state.positions.keeps_degrees)
    state.shared.add(state.people.shared, code, t, (first, second), degrees=state.positions.keeps_degrees)
    if code.size:
        state.rows_kept += code.size
        unit = _person_days(state, code, t) if reading.per_day else code
        keep(Rows(unit, t, first, second), state.units.texts)


def _person_days(state: ReadingState, code: Codes, t: Micros) -> Codes:
    """``<id>@YYYY-MM-DD``; new codes in the order of their first rows."""
    day = t // DAY
    low = int(day.min())
    key = code.astype(np.int64) * (int(day.max()) - low + 1) + (day - low)
    pairs, first, place = np.unique(key, return_index=True, return_inverse=True)
    code_of_pair = np.empty(len(pairs), dtype=np.int32)
    for pair in np.argsort(first):
        row = first[pair]
        text = f"{state.people.texts[code[row]]}@{date(1970, 1, 1) + timedelta(days=int(day[row]))}"
        code_of_pair[pair] = state.units.code(text)
    return code_of_pair[place]


def account_people(state: ReadingState, ids: Sequence[str] | pa.Array, people_read: int) -> None:
    """Count the people without a usable row, and ask about ids. ids: of the units that have a row."""
    reading, column = state.reading, f"column '{state.columns.person}' of {state.name}"
    if reading.per_day:
        ids = sorted({text[: -len("@2024-05-01")] for text in texts_of(ids)})
    state.people_read, state.people_lost = people_read, people_read - len(ids)
    apart, looked_at = state.at_once.counts()
    if state.doubts.at_once and apart > FEW * looked_at:
        raise InputError(state.doubts.at_once)
    dated = [text for text in texts_of(ids) if DATE_OF_FILE.search(text)] if state.doubts.days else []
    if len({DATE_OF_FILE.sub("", text) for text in dated}) < len(dated):
        raise InputError(state.doubts.days)
    may_number = state.doubts.each_row and people_read == state.rows_read >= _MANY_ROWS
    digits_count = state.columns.person.strip().lower() not in MAY_BE_GENERATED
    if may_number and all(
        (digits_count and text.isdigit()) or len(text) >= _GENERATED for text in texts_of(ids)
    ):
        raise InputError(state.doubts.each_row)
    _ask_about_shared_ids(state, ids, column)
    _ask_about_spellings(state, ids, column)
    rows, reasons = sum(state.dropped.values()), cleaning.format_counts(state.dropped, state.examples)
    broken = sum(state.dropped[reason] for reason in (WRONG_FIELDS, NO_OBJECT))
    if broken > _FEW * state.rows_read and not (reading.lose_people or state.owners.name_people()):
        raise InputError(
            f"{state.name}: {broken:,} of {state.rows_read:,} lines cannot be read ({reasons}); "
            f"{_HINTS[WRONG_FIELDS]}; --lose-people goes on without them"
        )
    nobody = state.dropped[cleaning.EMPTY_ID]
    most = (_FEW if state.doubts.who else _HALF) * state.rows_read
    if state.rows_read >= _MANY_ROWS and nobody > most and not reading.lose_people:
        raise InputError(
            f"{state.name}: {nobody:,} of {state.rows_read:,} rows have no id ({reasons}){state.doubts.who}; "
            "write it on every row, also where merged cells show it once; --lose-people goes on without them"
        )
    if not state.people_lost:
        if rows > _FEW * state.rows_read and _advice(state) != _UNSURE:
            text = "{rows} of {all} rows are dropped; {advice}"
            dropped, all_rows = f"{rows:,}", f"{state.rows_read:,}"
            note = say("reading.rows_dropped", text, rows=dropped, all=all_rows, advice=_advice(state))
            state.notes.append(note)
        return
    one, more = "{number} of {all} people has no usable row", "{number} of {all} people have no usable row"
    lost = say_number("reading.people_lost", state.people_lost, one, more, all=f"{people_read:,}")
    if state.people_lost > _FEW * people_read and not reading.lose_people:
        raise InputError(
            f"{state.name}: {lost} ({reasons}); {_advice(state)}; --lose-people goes on without them"
        )
    state.notes.append(lost)


def _ask_about_shared_ids(state: ReadingState, ids: Sequence[str] | pa.Array, column: str) -> None:
    if state.owners.name_people():
        return
    some, perhaps = state.shared.judge(texts_of(ids), len(ids), state.rows_kept)
    many = len(some)
    if many and not state.reading.ids_as_they_are:
        raise InputError(
            f"{counted(many, 'id')} in {column}, such as guest, test, -1, 0 or 999999, may stand for many "
            f"people, with far more rows than others or jumps between places{state.places_of(some)}; leave "
            "the ids of such rows empty, or say with --ids-as-they-are that each is one person"
        )
    if many or perhaps:
        one = (
            "{number} id such as guest, test, -1, 0 or 999999 counts as one person; if it stands for many, "
            "leave it empty"
        )
        more = (
            "{number} ids such as guest, test, -1, 0 or 999999 count as one person each; if they stand for "
            "many, leave them empty"
        )
        state.notes.append(say_number("reading.shared_ids", many + perhaps, one, more))


def _ask_about_spellings(state: ReadingState, ids: Sequence[str] | pa.Array, column: str) -> None:
    reading = state.reading
    groups = find_look_alikes(ids)
    alike, people = sum(map(len, groups)), len(groups)
    words = f"{alike:,} ids in {column} look like {counted(people, 'person', 'people')}"
    if alike and not reading.ids_as_they_are:
        raise InputError(
            f"{words}: they differ only as programs write one id (100 and 100.0, 007 and 7, Anna and anna, "
            f"blanks, forms of Unicode, letters of two alphabets, mailto:){state.places_of(groups[0])}; "
            "write one person's alike, or say with --ids-as-they-are that they are different people"
        )
    if alike:
        text = "{ids} ids look alike; they count as {ids} people and may be {people}"
        state.notes.append(say("reading.look_alikes", text, ids=f"{alike:,}", people=f"{people:,}"))
    kinds = state.people.kinds
    short = kinds.get(LOST_DIGITS, "" if ALL_DIGITS in kinds else kinds.get(ZEROS, ""))
    lost = "numbers that lost their last digits (as in 3.56938E+14, or above 2^53 with a decimal point)"
    if not short:
        short, lost = kinds.get(LOST_LETTERS, ""), "texts that lost letters (as in J?rgen)"
    if short and not reading.ids_as_they_are:
        raise InputError(
            f"ids in {column} are {lost}{state.places_of([short])}, so that one id may be several people; "
            "write the ids as text where the file is made, or say with --ids-as-they-are that each is one "
            "person"
        )


def no_rows(state: ReadingState) -> InputError:
    """The error, with reasons, when no row remains."""
    reasons = cleaning.format_counts(state.dropped, state.examples)
    return InputError(f"no row of {state.name} can be used ({reasons}); {_advice(state)}")


def _advice(state: ReadingState) -> Message:
    """What to do about the most frequent reason; where people vanish, among those of rows with an id."""
    of_nobody = {cleaning.EMPTY_ID, cleaning.NO_PERSON, WRONG_FIELDS} if state.people_lost else set()
    reasons = {reason: rows for reason, rows in state.dropped.items() if reason not in of_nobody}
    most = max(reasons or state.dropped, key=state.dropped.__getitem__)
    hint = _HINTS.get(most, _UNSURE)
    if most == cleaning.BAD_TIME and state.times.unread:
        text = "times are written like {form}; {advice}, or give their --time-format"
        hint = say("advice.written", text, form=state.times.unread, advice=hint)
        if time_format := state.reading.time_format:
            text = "--time-format '{format}' fits none of the times like {form}; give the one they have"
            hint = say("advice.time_format", text, format=time_format, form=state.times.unread)
    latest_s = state.reading.not_after_s or LAST_S
    if most == cleaning.FUTURE and not unit_of_this_time(state.times.size, latest_s):
        return say("advice.no_unit", "correct the years, or convert the times to dates")
    if most == cleaning.BAD_TIME and state.reading.preset:
        text = "it was read as {preset}: if that is wrong, name its columns; {advice}"
        hint = say("advice.preset", text, preset=state.reading.preset, advice=hint)
    if most == cleaning.BAD_COORDINATE and state.positions.unread:
        text = "coordinates are written like {form}; write them as decimal numbers, such as 48.85 and -2.35"
        return say("advice.coordinates", text, form=state.positions.unread)
    if most == cleaning.BAD_COORDINATE and state.columns.geometry:
        text = "shapes are empty, or no points (lines, areas, multipoints): write a point for each time"
        return say("advice.no_points", text)
    if most in {cleaning.LATITUDE, cleaning.LONGITUDE} and (guess := state.positions.advice()):
        return say("advice.degrees", "{guess}", guess=guess)
    return hint
