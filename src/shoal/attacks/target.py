"""What an adversary meets: records to search in, people to look for, and knowledge about them that comes from raw data.

Raw samples and generalized ones are both boxes here (a raw sample is one slot of one cell), so that every attack is written once.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.attacks.rate import TargetName
from shoal.model.release import Boxes, Release
from shoal.model.trajectories import Grid, Trajectories
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.run import Run


@dataclass(frozen=True, eq=False, kw_only=True)
class BoxIndex:
    """Boxes [b, 6] in classes of similar extent along one axis, sorted by their start within.

    Record: whose box each one is.
    """

    class_offsets: Integers
    boxes: Integers
    record: Integers

    @classmethod
    def along(cls, axis: int, boxes: Integers, record: Integers) -> "BoxIndex":
        """An index over time (axis 0: columns 0 and 1) or x (axis 1: columns 2 and 4)."""
        start, end = (0, 1) if axis == 0 else (2, 4)
        extent = np.maximum(boxes[:, end] - boxes[:, start], 1)
        level = np.ceil(np.log2(extent)).astype(np.int64) if len(boxes) else np.empty(0, dtype=np.int64)
        order = np.lexsort((boxes[:, start], level))
        counts = np.bincount(level, minlength=1)
        return cls(
            class_offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            boxes=np.ascontiguousarray(boxes[order]),
            record=np.ascontiguousarray(record[order]),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Target:
    """The records that are attacked.

    Record r owns boxes [b, 6] offsets[r] to offsets[r + 1], in the order of BOX_COLUMNS.
    """

    offsets: Integers
    boxes: Integers
    grid: Grid

    @classmethod
    def of_trajectories(cls, original: Trajectories) -> "Target":
        """Raw data, or any other snapped samples, as they are."""
        boxes = Boxes.of_samples(original.t, original.x, original.y)
        return cls(
            offsets=original.offsets, boxes=np.column_stack(boxes.columns()), grid=original.snapped_grid()
        )

    @classmethod
    def of_release(cls, release: Release) -> "Target":
        """The records of a release."""
        return cls(offsets=release.offsets, boxes=np.column_stack(release.boxes.columns()), grid=release.grid)

    @property
    def n_records(self) -> int:
        """How many records there are."""
        return len(self.offsets) - 1

    @cached_property
    def record_of_box(self) -> Integers:
        """int64 [b]: whose box each one is."""
        return np.repeat(np.arange(self.n_records), np.diff(self.offsets))

    @cached_property
    def by_time(self) -> BoxIndex:
        """The index for questions about samples."""
        return BoxIndex.along(0, self.boxes, self.record_of_box)

    @cached_property
    def by_x(self) -> BoxIndex:
        """The index for questions about places."""
        return BoxIndex.along(1, self.boxes, self.record_of_box)

    def record(self, position: int) -> Integers:
        """The boxes [b, 6] of one record."""
        return self.boxes[self.offsets[position] : self.offsets[position + 1]]

    def with_boxes(self, kept: npt.NDArray[np.bool_]) -> "Target":
        """The same records with only these boxes; a record may be left with none."""
        counts = np.bincount(self.record_of_box[kept], minlength=self.n_records)
        return Target(
            offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            boxes=self.boxes[kept],
            grid=self.grid,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Scene:
    """One attack's stage.

    known: the raw data that knowledge comes from. victims: positions of subjects in it. own: the record of
    each victim in ``target``; for the control group, who has none, a record drawn at random, so that its rate
    shows what luck alone gives.
    """

    known: Trajectories
    target: Target
    victims: Integers
    own: Integers
    label: TargetName
    run: Run = field(default_factory=Run)

    @property
    def guess(self) -> float:
        """The chance to name the right record without knowing anything."""
        return 1 / self.target.n_records


def draw_samples(
    known: Trajectories, victims: Integers, most: int, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """(offsets, rows [m, 3] of t, x, y).

    ``most`` different random samples of each victim, all of those who have fewer.
    """
    rows = [
        known.offsets[victim] + rng.choice(length, size=min(most, length), replace=False)
        for victim, length in zip(victims.tolist(), known.lengths[victims].tolist(), strict=True)
    ]
    offsets = np.cumsum([0, *(len(own) for own in rows)], dtype=np.int64)
    taken = np.concatenate(rows)
    return offsets, np.column_stack([known.t[taken], known.x[taken], known.y[taken]])


def expected_hits(scores: Floats, own: int) -> float:
    """The chance to name ``own`` by taking one of the records with the highest score at random."""
    best = scores == scores.max()
    return float(best[own]) / int(np.count_nonzero(best))
