"""Check another tool's file: k-anonymity, truth, attacks."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from shoal.attacks import AttackScope, Rate, attack
from shoal.attacks.questions import TRIES
from shoal.errors import MisuseError
from shoal.io import read
from shoal.io.foreign import FileLayout, Foreign, read_foreign
from shoal.model.claims import KAnonymity
from shoal.model.claims.expected import ExpectedClaim
from shoal.model.grid import Grid
from shoal.model.projection import WGS84, transform
from shoal.model.release import Boxes, Linkage, Losses, Payload, Points, Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding, Verdict
from shoal.publishing.foreign_links import (
    PersonLinks,
    RawSamples,
    by_content,
    by_names,
    by_table,
    in_units_of,
    rank_by_range_ends,
    row_by_row,
    widen_ranges,
)
from shoal.publishing.other_columns import require_records, search_other_columns
from shoal.runtime.argument_types import typed
from shoal.runtime.arrays import Floats, Integers, offsets_of
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.units import counted, percent
from shoal.verification.foreign import (
    OWN_SAMPLES,
    SAME_PEOPLE,
    ExaminedFile,
    examine_file,
    file_findings,
    identifying_names,
)

_RECOGNIZED: Final = FileLayout()
_GRID: Final = Grid()
_UNREAD: Final = "{rows:,} rows whose place or time cannot be read"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Checked:
    """What a published file shows, and how often attacks on it win.

    Parameters
    ----------
    verdict
        On the expected claim; without one it holds when nothing was found that no published file may show.
    k
        The size of the smallest class of equal records, or of its people if those are fewer.
    records, rows
        How many there are. Without a column of ids each row is a record.
    records_below
        Records in classes smaller than expected, or than 2.
    true_share
        The share of rows with a raw sample: of the row's person where that is known, else of anyone.
    covered_share
        The share of the raw samples in a row of their own person's record; None where that is not known.
    rates
        The attacks on raw data and on the file.
    columns
        The columns that were looked at, by role.
    notes
        How the file was read, and assumptions.
    """

    verdict: Verdict
    k: int
    records: int
    rows: int
    records_below: int
    true_share: float
    covered_share: float | None
    rates: tuple[Rate, ...]
    columns: Mapping[str, str]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The document of ``shoal check --json``."""
        return {
            **self.verdict.to_json(),
            "outcome": self.verdict.word,
            "k": self.k,
            "records": self.records,
            "rows": self.rows,
            "records_below": self.records_below,
            "true_share": self.true_share,
            "covered_share": self.covered_share,
            "columns": dict(self.columns),
            "attacks": [rate.to_json() for rate in self.rates],
            "notes": [*self.verdict.notes, *self.notes],
        }

    def __repr__(self) -> str:
        return f"Checked(k = {self.k}, {self.records} records, {percent(self.true_share)} of the rows true)"


@typed
def check(
    file: object,
    raw: object,
    *,
    claim: str | None = None,
    linkage: Path | None = None,
    layout: FileLayout = _RECOGNIZED,
    tries: int = TRIES,
    rng: Randomness | None = None,
    run: Run | None = None,
    **reading: Any,
) -> Checked:
    """Check a file that another tool published against the raw data it was made from.

    Parameters
    ----------
    file
        The published file: points, ranges, cells of H3 or geohashes, with ids of records or without.
    raw
        The raw data, as ``shoal.read`` takes it.
    claim
        The expected claim: "k-anonymity:5" or "k-anonymity:5,truthful".
    linkage
        A table of who (uid) became which record (trajectory_id).
    layout
        The file's columns and plane, where they are not recognized, and whether its rows are the raw ones.
    tries
        Victims of each attack; 0 = no attack is played.
    rng
        Draws victims and the observer's knowledge of them.
    run
        Progress and threads.
    **reading
        Settings of reading the raw data, as for ``shoal.read``.

    Returns
    -------
    Checked
        Verdict, measurements of the file, and rates of the attacks.

    Raises
    ------
    InputError
        When one of both cannot be read, or they cannot be compared.
    MisuseError
        For another claim than k-anonymity, or settings that cannot work.

    Examples
    --------
    >>> import pyarrow as pa, shoal
    >>> calls = pa.table({"uid": ["al", "bo", "cy", "di"],
    ...                   "t": [1714557600, 1714557660, 1714561200, 1714561260],
    ...                   "lat": [48.8566, 48.8571, 48.9012, 48.9034], "lon": [2.35, 2.36, 2.40, 2.41]})
    >>> made = pa.table({"hour": ["2024-05-01 10"] * 2 + ["2024-05-01 11"] * 2,
    ...                  "lat": ["[48.85, 48.90["] * 2 + ["[48.90, 48.95["] * 2, "lon": ["*"] * 4})
    >>> found = shoal.check(made, calls, claim="k-anonymity:2",
    ...                     layout=shoal.FileLayout(row_order=True), tries=0)
    >>> found.k, found.true_share, found.verdict.holds
    (2, 1.0, True)
    """
    expected = None if claim is None else ExpectedClaim.parse(claim)
    if expected is not None and (
        expected.type != KAnonymity.type or set(expected.numbers) - {"k", "truthful"}
    ):
        raise MisuseError(
            f"'{claim}' cannot be checked of such a file; expect k-anonymity:5 or k-anonymity:5,truthful"
        )
    if linkage is not None and layout.row_order:
        raise MisuseError("give either a linkage or the same order of rows, not both")
    run = run or Run()
    original = read(raw, run=run, **{**reading, "snap": False})
    published = read_foreign(file, layout, reading.get("time_zone"))
    require_records(published)
    samples_in_units = in_units_of(published, original)
    published, on_ranges, ranged = widen_ranges(published, samples_in_units)
    linked = _link_records(published, original, samples_in_units, linkage, raw if layout.row_order else None)
    boxes, samples = rank_by_range_ends(published, samples_in_units)
    by_record = np.lexsort((*boxes.columns()[::-1], published.record))
    offsets = offsets_of(np.bincount(published.record, minlength=len(published.records)))
    release = _release(published.records, offsets, boxes.take(by_record), original)
    disclosure = examine_file(release, samples, linked.person_of if linked.true else None)
    k = 2 if expected is None else int(expected.numbers.get("k", 2))
    truthful = bool(expected and expected.numbers.get("truthful"))
    units = linked.person_of[published.record] if linked.true else published.record
    elsewhere, doubts = search_other_columns(published, original, reading.get("time_zone"), units, k)
    telling, findings = identifying_names(original, published.records) if published.has_ids else (0, [])
    faults = list(file_findings(disclosure, release, k, truthful=truthful)) if expected is not None else []
    for message in () if expected is None else expected.other_people(original.intake.reading):
        faults.append(Finding("weaker-claim", message))
    if telling:
        faults = [replace(fault, trajectory_id=None) for fault in faults]
    verdict = Verdict.of(
        [*findings, *elsewhere, *faults],
        checked=len(published.records),
        unchecked=[*_unchecked(published, disclosure, expected is not None), *doubts],
    )
    rates, on_attacks = _attack_file(
        published, original, linked, ranged, tries, rng or Randomness.from_system(), run
    )
    small = np.minimum(disclosure.sizes, disclosure.people) < k
    return Checked(
        verdict=verdict,
        k=disclosure.least,
        records=len(published.records),
        rows=published.n_rows,
        records_below=int(disclosure.sizes[small].sum()),
        true_share=float(disclosure.true_rows.mean()),
        covered_share=None if disclosure.covered is None else float(disclosure.covered.mean()),
        rates=rates,
        columns=published.columns,
        notes=(
            *published.notes,
            *on_ranges,
            *_notes_on_records(published, linked),
            *on_attacks,
            *original.intake.notes,
        ),
    )


def _link_records(
    published: Foreign, original: Trajectories, samples: RawSamples, linkage: Path | None, raw: object | None
) -> PersonLinks:
    if linkage is not None:
        return by_table(published, original.ids, linkage)
    if raw is not None:
        return row_by_row(published, original.ids, raw, original.intake.reading)
    return by_names(published, original.ids) or by_content(published, samples)


def _release(
    names: tuple[str, ...], offsets: Integers, payload: Payload, people: Trajectories, suppressed: int = 0
) -> Release:
    return Release(
        trajectory_ids=names,
        offsets=offsets,
        payload=payload,
        claim=KAnonymity(k=2, truthful=False, disjoint_in_time=False),
        grid=_GRID if payload.on_grid else None,
        method="another-tool",
        parameters={},
        losses=Losses(subjects_suppressed=suppressed),
        crs=people.crs,
        unit_of_protection=people.intake.unit_of_protection,
        publishable=True,
    )


def _unchecked(published: Foreign, disclosure: ExaminedFile, claimed: bool) -> list[str]:
    parts = [] if disclosure.linked or not claimed else [SAME_PEOPLE]
    if not disclosure.linked and claimed and published.has_ids:
        parts.append(OWN_SAMPLES)
    return parts + ([_UNREAD.format(rows=published.unreadable)] if published.unreadable else [])


def _notes_on_records(published: Foreign, linked: PersonLinks) -> list[str]:
    notes = [f"who is behind which record: {linked.words}"]
    if not published.has_ids:
        notes.append(
            "no column names records, so each row is one; rows of a person that can be joined by what is "
            "in between, such as speed and heading, would tell more than these figures"
        )
    elif len(published.records) == published.n_rows > 1:
        notes.append(
            f"each value of '{published.columns['id']}' stands in one row: every row is a record of its own"
        )
    if published.rest.column_names:
        notes.append(
            f"{counted(published.rest.num_columns, 'other column was', 'other columns were')} searched for "
            "raw identifiers, times and places only; an attacker who knows a person's values there wins more"
        )
    return notes


_OF_POINTS: Final = ("nearest:1", "nearest:4", "track:4")
_MOST_ROWS: Final = 20_000  # attacked of a file without ids, drawn at random


def _attack_file(
    published: Foreign,
    original: Trajectories,
    linked: PersonLinks,
    ranged: bool,
    tries: int,
    rng: Randomness,
    run: Run,
) -> tuple[tuple[Rate, ...], list[str]]:
    if not tries:
        return (), []
    counts = np.bincount(linked.person_of[linked.person_of >= 0], minlength=original.n_subjects)
    notes: list[str] = []
    if published.has_ids and (counts <= 1).all():
        linking = linked.person_of
        people = original
    else:
        if published.has_ids:
            notes.append(
                "people have several records each; attacks were played on rows alone (read RAW with "
                "--per-day, or name its trips with --person, if these are the units)"
            )
        published, people, linking = _rows_as_records(published, original, linked, rng)
    has_person = linking >= 0
    if not has_person.any():
        return (), [*notes, "no attack was played: nobody was found behind any record"]
    if not has_person.all():
        unlinked = int((~has_person).sum())
        notes.append(
            f"{counted(unlinked, 'record')} of nobody {'was' if unlinked == 1 else 'were'} "
            "left out of the attacks, which makes them easier to win"
        )
    payload, offsets, names, snapped = _payload_of(published, people, has_person, ranged)
    links = Linkage(uids=tuple(people.ids[one] for one in linking[has_person].tolist()), trajectory_ids=names)
    release = _release(names, offsets, payload, people, people.n_subjects - len(names))
    rows_alone = people is not original
    asked: list[tuple[str, ...] | None] = [("points:1",) if rows_alone else None]
    if not payload.on_grid and not rows_alone:
        asked += [(one,) for one in _OF_POINTS]
    rates: list[Rate] = []
    for knowledge in asked:
        try:
            outcome = attack(snapped, release, links, rng=rng, knowledge=knowledge, tries=tries,
                           scope=AttackScope(targets=("raw", "release")), run=run)  # fmt: skip
        except MisuseError as error:
            notes.append(f"{', '.join(knowledge or ())} was not played: {error.cli_message}")
            continue
        rates += outcome.rates
        notes += outcome.notes
    if not linked.true:
        notes.append("attacks were judged by the people found by content; --linkage gives the true ones")
    return tuple(rates), list(dict.fromkeys(notes))


def _rows_as_records(
    published: Foreign, original: Trajectories, linked: PersonLinks, rng: Randomness
) -> tuple[Foreign, Trajectories, Integers]:
    rows = np.arange(published.n_rows)
    if len(rows) > _MOST_ROWS:
        rows = np.sort(rng.permutation(len(rows))[:_MOST_ROWS])
    some = replace(
        published.take(rows),
        records=tuple(f"row {row + 1}" for row in rows.tolist()),
        record=np.arange(len(rows)),
        has_ids=False,
        t=published.t.take(rows),
    )
    n = original.n_samples
    width = len(str(n))
    people = replace(
        original, ids=tuple(f"{one:0{width}d}" for one in range(n)), offsets=np.arange(n + 1), input_rank=None
    )
    sample_of_row = by_content(some, in_units_of(some, people)).person_of
    if linked.true:
        subject = np.repeat(np.arange(original.n_subjects), original.lengths)
        same_person = subject[sample_of_row] == linked.person_of[published.record[rows]]
        sample_of_row = np.where((sample_of_row >= 0) & same_person, sample_of_row, -1)
    return some, people, sample_of_row


def _payload_of(
    published: Foreign, people: Trajectories, has_person: Any, ranged: bool
) -> tuple[Payload, Integers, tuple[str, ...], Trajectories]:
    place = np.cumsum(has_person) - 1
    rows = np.flatnonzero(has_person[published.record])
    record = place[published.record[rows]]
    names = tuple(f"{number:x}" for number in range(int(has_person.sum())))
    axes = (published.t, *_axes_in_meters(published, people))
    t, x, y = (
        _finite_ends(axis.take(rows), raw)
        for axis, raw in zip(axes, (people.t, people.x, people.y), strict=True)
    )
    single = not ranged and all(
        axis.single.all() for axis in (published.t, published.first, published.second)
    )
    offsets = offsets_of(np.bincount(record, minlength=len(names)))
    if single:
        order = np.lexsort((y[0], x[0], t[0], record))
        return Points(t=t[0][order], x=x[0][order], y=y[0][order]), offsets, names, people
    steps = (_GRID.slot_s, _GRID.cell_m, _GRID.cell_m)
    low = [np.floor(axis[0] / step).astype(np.int64) for axis, step in zip((t, x, y), steps, strict=True)]
    high = [
        np.maximum(np.ceil(axis[1] / step).astype(np.int64), least + 1)
        for axis, step, least in zip((t, x, y), steps, low, strict=True)
    ]
    boxes = Boxes(t_start=low[0], t_end=high[0], x_min=low[1], y_min=low[2], x_max=high[1], y_max=high[2])
    order = np.lexsort((*boxes.columns()[::-1], record))
    return boxes.take(order), offsets, names, people.snapped_to(_GRID)


def _finite_ends(axis: Any, raw: Floats) -> tuple[Floats, Floats]:
    low = np.where(np.isfinite(axis.low), axis.low, raw.min())
    high = np.where(np.isfinite(axis.high), axis.high, raw.max() + 1)
    return low, np.maximum(high, low)


def _axes_in_meters(published: Foreign, people: Trajectories) -> tuple[Any, Any]:
    first, second = published.corners or (published.first, published.second)
    crs = published.crs if published.places == "meters" else WGS84
    if people.crs is None or crs == people.crs:
        return first, second
    lon_lat = transform(people.crs, crs or WGS84, people.x, people.y)
    west, east = _finite_ends(first, lon_lat[0])
    south, north = _finite_ends(second, lon_lat[1])
    middle = ((west + east) / 2, (south + north) / 2)
    around = [
        transform(crs or WGS84, people.crs, a, b)
        for a in (west, middle[0], east)
        for b in (south, middle[1], north)
    ]
    xs, ys = (np.array([corner[side] for corner in around]) for side in (0, 1))
    kind = type(first)
    return kind(low=xs.min(axis=0), high=xs.max(axis=0)), kind(low=ys.min(axis=0), high=ys.max(axis=0))
