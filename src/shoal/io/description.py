"""What is in a data set, in figures and in plain words: the answer to ``shoal inspect``."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from shoal.io.time_text import SECOND
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers, Numbers
from shoal.units import DAY_S, show_m, show_s

TOP_PLACES: Final = 10


@dataclass(frozen=True, kw_only=True)
class Description:
    """A data set in figures.

    first_time, last_time: ISO 8601, UTC. days: between them. extent: of the smallest upright rectangle
    around all samples. samples_per_subject: least, median, most. samples_per_subject_and_day: mean over
    all subjects and the days of the data, at least one. places: different cells, or positions as given.
    share_in_top_places: of all samples, in the ten most frequent ones. median_gap_s: between consecutive
    samples of one subject, None where nobody has two. cell_m, slot_s: None for points as given.
    """

    subjects: int
    samples: int
    first_time: str
    last_time: str
    days: float
    extent_east_km: float
    extent_north_km: float
    samples_per_subject: tuple[int, float, int]
    samples_per_subject_and_day: float
    places: int
    share_in_top_places: float
    median_gap_s: float | None
    unit_of_protection: str
    cell_m: float | None
    slot_s: float | None
    crs: str | None
    rows_read: int
    rows_dropped: Mapping[str, int]
    rows_repaired: Mapping[str, int]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """For ``--json``: the same names."""
        least, median, most = self.samples_per_subject
        return {
            **asdict(self),
            "samples_per_subject": {"min": least, "median": median, "max": most},
            "notes": list(self.notes),
        }

    def lines(self) -> list[str]:
        """For people to read."""
        least, median, most = self.samples_per_subject
        gap = (
            "nobody has two samples"
            if self.median_gap_s is None
            else f"{show_s(self.median_gap_s)} in the middle (median)"
        )
        grid = "points as given"
        if self.cell_m is not None and self.slot_s is not None:
            grid = f"cells of {show_m(self.cell_m)}, slots of {show_s(self.slot_s)}"
        dropped = sum(self.rows_dropped.values())
        return [
            f"subjects: {self.subjects:,} ({self.unit_of_protection})",
            f"samples: {self.samples:,}, from {self.rows_read:,} rows",
            f"time: {self.first_time} to {self.last_time} ({self.days:,.3g} days)",
            f"area: {self.extent_east_km:,.4g} km east-west, {self.extent_north_km:,.4g} km north-south",
            f"samples of one subject: {least:,} to {most:,}, median {median:,.4g}; a day: "
            f"{self.samples_per_subject_and_day:,.3g}",
            f"time between samples of one subject: {gap}",
            f"places: {self.places:,} different; the {TOP_PLACES} most frequent hold "
            f"{self.share_in_top_places:.1%} of all samples",
            f"grid: {grid}",
            f"plane: {self.crs or 'local meters'}",
            f"rows dropped: {dropped:,}" + ":" * bool(dropped),
            *(f"  {rows:,} {reason}" for reason, rows in self.rows_dropped.items()),
            *(f"rows repaired: {rows:,} {reason}" for reason, rows in self.rows_repaired.items()),
            *(f"note: {note}" for note in self.notes),
        ]


def describe(trajectories: Trajectories) -> Description:
    """The figures of a data set, snapped or as given.

    Parameters
    ----------
    trajectories : Trajectories
        The data set.

    Returns
    -------
    Description
        How many people and samples, from when to when, how wide, how dense, and what the reading dropped.

    Examples
    --------
    >>> import shoal
    >>> city = shoal.read(shoal.synthesize(20, 2, 1))
    >>> shoal.describe(city).lines()[0]
    "subjects: 20 (each distinct value of column 'uid')"
    """
    grid, intake, lengths = trajectories.grid, trajectories.intake, trajectories.lengths
    slot_s, cell_m = (grid.slot_s, grid.cell_m) if grid else (1.0, 1.0)
    first_s, last_s = float(trajectories.t.min()) * slot_s, float(trajectories.t.max()) * slot_s
    days = (last_s - first_s) / DAY_S
    counts = _place_counts(trajectories.x, trajectories.y)
    gaps = np.diff(trajectories.t)
    within_subject = np.ones(len(gaps), dtype=np.bool_)
    within_subject[trajectories.offsets[1:-1] - 1] = False
    return Description(
        subjects=trajectories.n_subjects,
        samples=trajectories.n_samples,
        first_time=_iso(first_s),
        last_time=_iso(last_s),
        days=days,
        extent_east_km=_extent(trajectories.x, snapped=grid is not None) * cell_m / 1000,
        extent_north_km=_extent(trajectories.y, snapped=grid is not None) * cell_m / 1000,
        samples_per_subject=(int(lengths.min()), float(np.median(lengths)), int(lengths.max())),
        samples_per_subject_and_day=trajectories.n_samples / trajectories.n_subjects / max(days, 1.0),
        places=len(counts),
        share_in_top_places=float(np.sort(counts)[-TOP_PLACES:].sum() / trajectories.n_samples),
        median_gap_s=float(np.median(gaps[within_subject])) * slot_s if within_subject.any() else None,
        unit_of_protection=intake.unit_of_protection,
        cell_m=grid.cell_m if grid else None,
        slot_s=grid.slot_s if grid else None,
        crs=trajectories.crs,
        rows_read=intake.rows_read,
        rows_dropped=dict(intake.dropped),
        rows_repaired=dict(intake.repaired),
        notes=intake.notes,
    )


def _extent(values: Numbers, *, snapped: bool) -> float:
    """From the least to the greatest; a cell reaches one further than its lower corner."""
    return float(values.max() - values.min()) + snapped


def _place_counts(x: Numbers, y: Numbers) -> Integers:
    """How many samples each different place has."""
    order = np.lexsort((y, x))
    x, y = x[order], y[order]
    begins = np.flatnonzero(np.append(True, (x[1:] != x[:-1]) | (y[1:] != y[:-1])))
    return np.diff(np.append(begins, len(x)))


def _iso(seconds: float) -> str:
    """A moment as ISO 8601 text, to the second."""
    return f"{np.datetime64(int(seconds * SECOND), 'us').astype('datetime64[s]')}Z"
