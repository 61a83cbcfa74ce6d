"""The answer for a file that another tool made: is it k-anonymous, is it true, what do attacks win."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from shoal.attacks import Rate
from shoal.errors import MisuseError
from shoal.io import read
from shoal.io.foreign import Foreign, read_foreign
from shoal.model.claims import KAnonymity
from shoal.model.claims.expected import ExpectedClaim
from shoal.model.release import Boxes, Losses, Release
from shoal.model.trajectories import Grid, Trajectories
from shoal.model.verdicts import Verdict
from shoal.publishing.coarseness import Known, widened
from shoal.publishing.foreign_attacks import attacked
from shoal.publishing.foreign_links import (
    Linked,
    between_ends,
    by_content,
    by_names,
    by_table,
    in_units_of,
    row_by_row,
)
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.verification.foreign import OWN_SAMPLES, SAME_PEOPLE, Shown, findings_on, look_at, telling_names

TRIES: Final = 200
_GRID: Final = Grid()
_UNREAD: Final = "{rows:,} rows whose place or time cannot be read"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Checked:
    """What a published file shows, and how often attacks on it win.

    Parameters
    ----------
    verdict
        On what was expected of it; without an expectation it holds when nothing was found that no published
        file may show.
    k
        The least number of records that are alike, or of people behind them if those are fewer.
    records, rows
        How many there are. Without a column of ids each row is a record.
    records_below
        Records in classes smaller than what was expected, or than 2.
    true_share
        The share of rows with a raw sample: of its own person where it is known who that is, else of anybody.
    covered_share
        The share of the raw samples in a row of their own person's record; None where that is not known.
    rates
        The attacks on raw data and on the file.
    columns
        The columns that were looked at, by role.
    notes
        How the file was read, and what was assumed.
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
        """The document that ``shoal check --json`` prints."""
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
        return f"Checked(k = {self.k}, {self.records} records, {self.true_share:.1%} of the rows true)"


def check(
    file: object,
    raw: object,
    *,
    claim: str | None = None,
    linkage: Path | None = None,
    row_order: bool = False,
    columns: Mapping[str, str] | None = None,
    crs: str | None = None,
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
        What is expected of the file: "k-anonymity:5" or "k-anonymity:5,truthful".
    linkage
        A table of who (uid) became which record (trajectory_id).
    row_order
        Whether row i of the file was made from row i of the raw data.
    columns
        Columns of the file by role (id, time, time-end, lat, lon, lat-max, lon-max, x, y, x-max, y-max, cell,
        geometry), where their names are not recognized.
    crs
        The system of planar x and y of the file.
    tries
        Victims of each attack; 0 = no attack is played.
    rng
        Draws victims and what is known of them.
    run
        Progress and threads.
    **reading
        Settings of reading the raw data, as for ``shoal.read``.

    Returns
    -------
    Checked
        The verdict, what the file shows, and the rates of the attacks.

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
    >>> found = shoal.check(made, calls, claim="k-anonymity:2", row_order=True, tries=0)
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
    if linkage is not None and row_order:
        raise MisuseError("give either a linkage or the same order of rows, not both")
    run = run or Run()
    original = read(raw, run=run, **{**reading, "snap": False})
    published = read_foreign(file, columns=columns, crs=crs, time_zone=reading.get("time_zone"))
    known = in_units_of(published, original)
    published, told, ranged = widened(published, known)
    linked = _linked(published, original, known, linkage, raw if row_order else None)
    boxes, samples = between_ends(published, known)
    release = _release(published, boxes, original, k=2)
    shown = look_at(release, samples, linked.person_of if linked.true else None)
    k = 2 if expected is None else int(expected.numbers.get("k", 2))
    truthful = bool(expected and expected.numbers.get("truthful"))
    named, findings = telling_names(original, published.records) if published.has_ids else (0, [])
    faults = list(findings_on(shown, release, k, truthful=truthful)) if expected is not None else []
    if named:
        faults = [replace(each, trajectory_id=None) for each in faults]
    verdict = Verdict.of(
        [*findings, *faults],
        checked=len(published.records),
        unchecked=_unchecked(published, shown, expected is not None),
    )
    rates, on_attacks = attacked(
        published, original, linked, ranged, tries, rng or Randomness.from_system(), run
    )
    small = np.minimum(shown.sizes, shown.people) < k
    return Checked(
        verdict=verdict,
        k=shown.least,
        records=len(published.records),
        rows=published.n_rows,
        records_below=int(shown.sizes[small].sum()),
        true_share=float(shown.true_rows.mean()),
        covered_share=None if shown.covered is None else float(shown.covered.mean()),
        rates=rates,
        columns=published.columns,
        notes=(*published.notes, *told, *_about(published, linked), *on_attacks, *original.intake.notes),
    )


def _linked(
    published: Foreign, original: Trajectories, known: Known, linkage: Path | None, raw: object | None
) -> Linked:
    """Who is behind each record: told if possible, else found."""
    if linkage is not None:
        return by_table(published, original.ids, linkage)
    if raw is not None:
        return row_by_row(published, original.ids, raw, original.intake.reading)
    return by_names(published, original.ids) or by_content(published, known)


def _release(published: Foreign, boxes: Boxes, original: Trajectories, *, k: int) -> Release:
    """The file's records, whatever their rows count; rows of a record stand together, by time."""
    by_record = np.lexsort((*boxes.columns()[::-1], published.record))
    counts = np.bincount(published.record, minlength=len(published.records))
    return Release(
        trajectory_ids=published.records,
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        payload=boxes.take(by_record),
        claim=KAnonymity(k=k, truthful=False, disjoint_in_time=False),
        grid=_GRID,
        method="another-tool",
        parameters={},
        losses=Losses(),
        crs=original.crs,
        unit_of_protection=original.intake.unit_of_protection,
        publishable=True,
    )


def _unchecked(published: Foreign, shown: Shown, claimed: bool) -> list[str]:
    parts = [] if shown.known or not claimed else [SAME_PEOPLE]
    if not shown.known and claimed and published.has_ids:
        parts.append(OWN_SAMPLES)
    return parts + ([_UNREAD.format(rows=published.unreadable)] if published.unreadable else [])


def _about(published: Foreign, linked: Linked) -> list[str]:
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
    if published.others:
        notes.append(
            f"columns that were not looked at: {', '.join(published.others[:20])}; whoever knows their "
            "values of somebody wins more"
        )
    return notes
