"""A release in memory: boxes under fresh pseudonyms, the claim they carry, and the counts of what was lost.

It holds no raw identifier and no seed. Who became which record is the Linkage, which exists apart from it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from shoal.claims import Claim
from shoal.errors import MisuseError
from shoal.intake import Reading
from shoal.trajectories import Grid, Integers

BOX_COLUMNS: Final = ("t_start", "t_end", "x_min", "y_min", "x_max", "y_max")


@dataclass(frozen=True, eq=False, kw_only=True)
class Boxes:
    """Generalised samples, int64 [m] each: [t_start, t_end) in slots, [x_min, x_max) and [y_min, y_max) in cells.

    Says "the subject was somewhere in this area at some moment in this interval" (semantics 0).
    """

    t_start: Integers
    t_end: Integers
    x_min: Integers
    y_min: Integers
    x_max: Integers
    y_max: Integers

    @classmethod
    def of_samples(cls, t: Integers, x: Integers, y: Integers) -> "Boxes":
        """Each raw sample as the box it covers: one slot, one cell."""
        return cls(t_start=t, t_end=t + 1, x_min=x, y_min=y, x_max=x + 1, y_max=y + 1)

    @classmethod
    def concatenate(cls, parts: Sequence["Boxes"]) -> "Boxes":
        """All boxes of all parts, in order."""
        empty = [np.empty(0, dtype=np.int64)]
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts] or empty) for name in BOX_COLUMNS})

    def __len__(self) -> int:
        return len(self.t_start)

    def columns(self) -> tuple[Integers, Integers, Integers, Integers, Integers, Integers]:
        """The six arrays, in the order of BOX_COLUMNS."""
        return self.t_start, self.t_end, self.x_min, self.y_min, self.x_max, self.y_max

    def take(self, rows: Any) -> "Boxes":
        """Only these rows (a slice, positions or a mask)."""
        return Boxes(**{name: getattr(self, name)[rows] for name in BOX_COLUMNS})

    def sorted(self) -> "Boxes":
        """In canonical order: by t_start, then t_end, x_min, y_min, x_max, y_max."""
        return self.take(np.lexsort(self.columns()[::-1]))


@dataclass(frozen=True, kw_only=True)
class Losses:
    """What the release does not hold. rows: input rows dropped, by reason; the others count after that.

    samples_suppressed: raw samples that no box of their own subject's record covers, those of suppressed subjects included.
    """

    rows: Mapping[str, int] = field(default_factory=dict)
    samples_suppressed: int = 0
    subjects_suppressed: int = 0


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Release:
    """Published records. Record r owns boxes offsets[r] to offsets[r + 1], sorted by time, under trajectory_ids[r].

    crs: the plane of the boxes, None = local metres. reading: how the raw input was read, so that a check can repeat it.
    publishable: False when a research seed was used.
    """

    trajectory_ids: tuple[str, ...]
    offsets: Integers
    boxes: Boxes
    claim: Claim
    method: str
    parameters: Mapping[str, Any]
    losses: Losses
    grid: Grid
    crs: str | None
    unit_of_protection: str
    publishable: bool
    reading: Reading = field(default_factory=Reading)
    rows_repaired: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.offsets.shape != (self.n_records + 1,) or self.offsets[0] != 0 or self.offsets[-1] != len(self.boxes):
            raise MisuseError(f"offsets must rise from 0 to {len(self.boxes)} in {self.n_records} steps")

    @property
    def n_records(self) -> int:
        """How many records there are; members of one crowd have one each."""
        return len(self.trajectory_ids)

    @property
    def n_samples(self) -> int:
        """How many boxes there are, of all records together."""
        return len(self.boxes)

    def record(self, position: int) -> Boxes:
        """The boxes of one record."""
        return self.boxes.take(slice(self.offsets[position], self.offsets[position + 1]))

    def __repr__(self) -> str:
        return f"Release({self.method}, {self.claim}, {self.n_records} records, {self.n_samples} boxes)"


@dataclass(frozen=True, eq=False, repr=False)
class Linkage:
    """Which subject became which record: pairs (uid, trajectory id), in no particular order. Never inside a release."""

    uids: tuple[str, ...]
    trajectory_ids: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.uids) != len(self.trajectory_ids):
            raise MisuseError(f"{len(self.uids)} uids cannot be linked to {len(self.trajectory_ids)} records")

    def __repr__(self) -> str:
        return f"Linkage({len(self.uids)} subjects)"
