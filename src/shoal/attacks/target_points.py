"""What an adversary meets in points as they were given.

Records of points to search in, people to look for, and their raw points.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from shoal.attacks.rate import TargetName
from shoal.model.release import PointRelease
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.run import Run


@dataclass(frozen=True, eq=False, kw_only=True)
class Shown:
    """Records of points.

    Record r owns points offsets[r] to offsets[r + 1], in the order of time; t seconds, x and y meters, [m]
    each.
    """

    offsets: Integers
    t: Floats
    x: Floats
    y: Floats

    @classmethod
    def of(cls, points: Trajectories | PointRelease) -> "Shown":
        """Raw data, every subject a record, or a release; raises MisuseError for snapped samples."""
        if isinstance(points, Trajectories):
            points.require_points_as_given()
        held = points.points if isinstance(points, PointRelease) else points
        return cls(offsets=points.offsets, t=held.t, x=held.x, y=held.y)

    @property
    def n_records(self) -> int:
        """How many records there are."""
        return len(self.offsets) - 1

    @cached_property
    def record_of_point(self) -> Integers:
        """int64 [m]: whose point each one is."""
        return np.repeat(np.arange(self.n_records), np.diff(self.offsets))


@dataclass(frozen=True, eq=False, kw_only=True)
class GivenScene:
    """One attack's stage, as a Scene is for boxes.

    known: the raw points that knowledge comes from. victims: positions of subjects in it. own: the record of
    each victim in ``shown``; for the control group a record drawn at random.
    """

    known: Trajectories
    shown: Shown
    victims: Integers
    own: Integers
    label: TargetName
    run: Run = field(default_factory=Run)

    @property
    def guess(self) -> float:
        """The chance to name the right record without knowing anything."""
        return 1 / self.shown.n_records

    @cached_property
    def times(self) -> tuple[Integers, Integers]:
        """int64 [known points], [shown points]: equal numbers for equal times in either."""
        return self._halves(self._codes("t"))

    @cached_property
    def triples(self) -> tuple[Integers, Integers]:
        """The same for equal time and place."""
        codes = np.zeros(self.known.n_samples + len(self.shown.t), dtype=np.int64)
        for name in ("t", "x", "y"):
            column = self._codes(name)
            codes = np.unique(codes * (int(column.max()) + 1) + column, return_inverse=True)[1]
        return self._halves(codes)

    def rows_known(self, victim: int, most: int, rng: np.random.Generator) -> Integers:
        """``most`` different random points of a victim, all of those who have fewer: rows of ``known``."""
        length = int(self.known.lengths[victim])
        return np.asarray(
            self.known.offsets[victim] + rng.choice(length, size=min(most, length), replace=False)
        )

    def _codes(self, name: str) -> Integers:
        both = np.concatenate([getattr(self.known, name), getattr(self.shown, name)])
        return np.asarray(np.unique(both, return_inverse=True)[1], dtype=np.int64)

    def _halves(self, codes: Integers) -> tuple[Integers, Integers]:
        return codes[: self.known.n_samples], codes[self.known.n_samples :]
