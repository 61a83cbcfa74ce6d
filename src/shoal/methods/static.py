"""Static generalization: one coarse grid for everybody."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from shoal.errors import MisuseError, NothingLeftError
from shoal.methods.assembly import EquivalenceClass
from shoal.methods.hulls import hull_parameter, leaves_for, publish_classes, put_on_leaves
from shoal.methods.method import About, DeclaredMethod, rounding
from shoal.methods.parameters import ABOVE_0, AT_LEAST_0, k_parameter, parameter, whole_multiple
from shoal.model.argument_checks import require_method_inputs, require_people
from shoal.model.claims import KAnonymity
from shoal.model.grid import Grid
from shoal.model.release import Boxes, Released
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers, rows_of
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.units import show_m, show_s


@dataclass(frozen=True, kw_only=True)
class StaticGeneralization(DeclaredMethod):
    """k-anonymity of people who share all their cells of a coarse grid with k - 1 others.

    A published box is the hull of a class's samples in one coarse cell and slot.

    Parameters
    ----------
    k
        Smallest equivalence class.
    grid_m
        Side of the coarse cells in meters, from the plane's origin. A multiple of the data's cell.
    grid_offset_m
        How far east and north of the origin a coarse cell has its corner, in meters; a multiple of the data's
        cell. The origin is the middle of the data, where otherwise four cells meet.
    slot_s
        Length of the coarse slots in seconds, from 1970-01-01 UTC. A multiple of the data's slot.
    hull
        How far boxes extend beyond the hulls of their samples, as ``parse_hull`` reads it.

    References
    ----------
    Gramaglia et al. 2017, Sec. IV-B; Gramaglia and Fiore 2015, Sec. 5 and Fig. 4.

    Examples
    --------
    >>> import shoal
    >>> calls = shoal.read(shoal.synthesize(60, 1, 1, layout="city"))
    >>> method = shoal.StaticGeneralization(grid_m=100_000, slot_s=24 * 3600)
    >>> release, linkage = method.anonymize(calls, shoal.Randomness.from_system())
    >>> shoal.verify(calls, release, linkage).holds
    True
    """

    about: ClassVar[About] = About(
        name="static",
        title="static generalization",
        techniques=(rounding("everybody's samples are rounded to the same coarse grid"),),
        claim=KAnonymity,
        publishes="boxes",
        summary="publishes the same grid for everybody; people who are still alone are left out.",
        page="static",
    )

    k: int = k_parameter(meaning="the fewest records that fit one person")
    grid_m: float = parameter(
        default=4_000.0,
        unit="m",
        bound=ABOVE_0,
        help="Side of the coarse cells.",
        meaning="side of the coarse cells that a crowd must have in common",
    )
    grid_offset_m: float = parameter(
        default=0.0,
        unit="m",
        bound=AT_LEAST_0,
        zero=True,
        help="How far east and north of the plane's origin the coarse cells begin.",
        meaning="how far east and north of the plane's origin the coarse cells begin",
    )
    slot_s: float = parameter(
        default=2 * 3600.0,
        unit="s",
        bound=ABOVE_0,
        help="Length of the coarse slots.",
        meaning="length of the coarse slots that a crowd must have in common",
    )
    hull: str = hull_parameter()

    def claim(self) -> KAnonymity:
        """k-anonymity; boxes of two cells may share a slot."""
        return KAnonymity(k=self.k, disjoint_in_time=False, hull=self.hull)

    def anonymize(self, original: Trajectories, rng: Randomness, run: Run | None = None) -> Released:
        """The release and its linkage.

        MisuseError for a cell that is no whole number of the data's, NothingLeftError when no class has k
        people.
        """
        require_method_inputs(original, rng)
        classes = self.classes(original, run or Run())
        if not classes:
            raise NothingLeftError(
                f"no {self.k} people share all their cells of {show_m(self.grid_m)} and "
                f"{show_s(self.slot_s)}, so everybody would be suppressed; choose a coarser grid or longer "
                "slots"
            )
        return publish_classes(self, original, classes, self.hull, rng)

    def classes(self, original: Trajectories, run: Run) -> list[EquivalenceClass]:
        """Classes of at least k people with the same coarse samples, and their boxes."""
        original = put_on_leaves(original, leaves_for(original, self.hull))
        place = self._coarse_places(original)

        def hulls(members: Integers) -> EquivalenceClass:
            rows = rows_of(original.offsets, members)
            rows = rows[np.argsort(place[rows], kind="stable")]
            samples = Boxes.of_samples(original.t[rows], original.x[rows], original.y[rows])
            first = np.flatnonzero(np.diff(place[rows], prepend=-1))
            return EquivalenceClass(members=members, boxes=samples.hulls(first))

        return list(run.map(hulls, self._group_people(original, place), label="generalizing"))

    def share_hidden(self, original: Trajectories) -> float:
        """Share of people in a class of at least k, the papers' measure of success."""
        original = put_on_leaves(original, leaves_for(original, self.hull))
        groups = self._group_people(original, self._coarse_places(original))
        return sum(len(members) for members in groups) / original.n_subjects

    def _group_people(self, original: Trajectories, place: Integers) -> list[Integers]:
        require_people(original.n_subjects, self.k)
        groups: dict[bytes, list[int]] = {}
        for subject, (start, end) in enumerate(pairwise(original.offsets.tolist())):
            groups.setdefault(np.unique(place[start:end]).tobytes(), []).append(subject)
        return [np.array(members) for members in groups.values() if len(members) >= self.k]

    def require_steps(self, grid: Grid) -> None:
        """Raise MisuseError when a coarse cell, its offset or a slot is no whole number of steps."""
        self._whole_steps(grid)

    def _whole_steps(self, grid: Grid) -> tuple[int, int, int]:
        cells = whole_multiple(self.grid_m, grid.cell_m, "grid", "cell", show_m)
        slots = whole_multiple(self.slot_s, grid.slot_s, "slot", "slot", show_s)
        offset = self.grid_offset_m / grid.cell_m
        if offset != int(offset):
            raise MisuseError(
                f"grid_offset = {show_m(self.grid_offset_m)} is no multiple of the data's cell of "
                f"{show_m(grid.cell_m)}; give a multiple, for example {show_m(grid.cell_m * round(offset))}"
            )
        return cells, slots, int(offset)

    def _coarse_places(self, original: Trajectories) -> Integers:
        cells, slots, offset = self._whole_steps(original.snapped_grid())
        x, y = original.x - offset, original.y - offset
        columns = np.stack([original.t // slots, x // cells, y // cells], axis=1)
        return np.asarray(np.unique(columns, axis=0, return_inverse=True)[1], dtype=np.int64).reshape(-1)
