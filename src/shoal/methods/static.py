"""Static generalization: one coarse grid and one slot for everybody.

Who is still alone on it is left out (kte-anonymity.txt, Sec. V-B).
"""

from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from shoal.errors import MisuseError, NothingLeftError
from shoal.methods.assembly import Crowd, assemble
from shoal.model.claims import KAnonymity
from shoal.model.hulls import hulls_of
from shoal.model.release import Boxes, Linkage, Release
from shoal.model.trajectories import Trajectories, require_people
from shoal.runtime.arrays import Integers
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.units import show_m, show_s


@dataclass(frozen=True, kw_only=True)
class StaticGeneralization:
    """k-anonymity of those who share all their cells of a coarse grid with k - 1 others.

    The rest is suppressed and counted.

    k: smallest crowd. grid_m: side of the square cells; slot_s: length of the slots; multiples of the data's
    own cell and slot, which begin at the plane's origin and at 1970-01-01 UTC. What is published of a cell is
    the hull of the crowd's samples in it.
    """

    takes_points: ClassVar[bool] = False

    k: int = 2
    grid_m: float = 4_000.0
    slot_s: float = 2 * 3600.0

    def __post_init__(self) -> None:
        self.claim()
        for name, value, example in (("grid_m", self.grid_m, "4000"), ("slot_s", self.slot_s, "7200")):
            if not (np.isfinite(value) and value > 0):
                raise MisuseError(
                    f"{name} = {value} must be finite and greater than 0, for example {example}"
                )

    def claim(self) -> KAnonymity:
        """k-anonymity; boxes of two cells may share a slot."""
        return KAnonymity(k=self.k, disjoint_in_time=False)

    def parameters(self) -> dict[str, Any]:
        """All parameters, as a manifest holds them."""
        return asdict(self)

    def anonymize(
        self, original: Trajectories, rng: Randomness, run: Run | None = None
    ) -> tuple[Release, Linkage]:
        """The release and who became which record.

        Raises MisuseError with fewer than k people or when a cell of the grid is no whole number of the
        data's, NothingLeftError when everybody is still alone.
        """
        crowds = self.crowds(original, run or Run())
        if not crowds:
            raise NothingLeftError(
                f"no {self.k} people share all their cells of {show_m(self.grid_m)} and "
                f"{show_s(self.slot_s)}, so everybody would be "
                "suppressed; choose a coarser grid or longer slots"
            )
        return assemble(
            original, crowds, claim=self.claim(), method="static", parameters=self.parameters(), rng=rng
        )

    def crowds(self, original: Trajectories, run: Run) -> list[Crowd]:
        """The crowds of at least k people with the same coarse samples, and one box for each of these."""
        require_people(original.n_subjects, self.k)
        place = self._coarse(original)
        alike: dict[bytes, list[int]] = {}
        for subject, (start, end) in enumerate(pairwise(original.offsets.tolist())):
            alike.setdefault(np.unique(place[start:end]).tobytes(), []).append(subject)
        crowds = [np.array(members) for members in alike.values() if len(members) >= self.k]
        return list(
            run.map(
                lambda members: Crowd(members=members, boxes=_hulls(original, members, place)),
                crowds,
                label="generalizing",
            )
        )

    def _coarse(self, original: Trajectories) -> Integers:
        """[m] a number for each sample, the same for those in one coarse cell and slot."""
        grid = original.snapped_grid()
        cells = _whole_number(self.grid_m, grid.cell_m, "grid", "cell", show_m)
        slots = _whole_number(self.slot_s, grid.slot_s, "slot", "slot", show_s)
        columns = np.stack([original.t // slots, original.x // cells, original.y // cells], axis=1)
        return np.asarray(np.unique(columns, axis=0, return_inverse=True)[1], dtype=np.int64).reshape(-1)


def _whole_number(coarse: float, fine: float, name: str, of: str, show: Any) -> int:
    """How many of the data's own steps make a coarse one.

    Raises MisuseError with the nearest valid values.
    """
    ratio = Fraction(repr(float(coarse))) / Fraction(repr(float(fine)))
    if ratio.denominator != 1:
        valid = [show(fine * count) for count in (int(ratio), int(ratio) + 1) if count]
        raise MisuseError(
            f"{name} = {show(coarse)} is not a multiple of the data's {of} of {show(fine)}; use "
            f"{' or '.join(valid)}"
        )
    return int(ratio)


def _hulls(original: Trajectories, members: Integers, place: Integers) -> Boxes:
    """One box for each coarse cell: the hull of all members' samples in it."""
    rows = np.concatenate([np.arange(original.offsets[i], original.offsets[i + 1]) for i in members])
    rows = rows[np.argsort(place[rows], kind="stable")]
    first = np.flatnonzero(np.diff(place[rows], prepend=-1))
    return hulls_of(Boxes.of_samples(original.t[rows], original.x[rows], original.y[rows]), first)
