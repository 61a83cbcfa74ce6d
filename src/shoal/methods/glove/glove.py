"""GLOVE: merge the two most similar fingerprints until every crowd holds k people (glove.txt, Alg. 1.

Semantics 1).
"""

from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Final, Literal, get_args

import numpy as np

from shoal.errors import MisuseError
from shoal.kernels.stretch import Scale, box_effort
from shoal.measures.stretch import SPACE_CAP_M, TIME_CAP_S, Caps, samples_of_boxes
from shoal.methods.assembly import Crowd, assemble
from shoal.methods.glove.closest_pairs import BandedPairs
from shoal.methods.glove.greedy import merge_greedily
from shoal.methods.glove.merging import merge
from shoal.methods.glove.reshaping import GENERALIZE, Generalize, split_at_overlaps, unite_overlaps
from shoal.methods.k_merge import merge_members
from shoal.model.claims import KAnonymity
from shoal.model.release import Boxes, Linkage, Release
from shoal.model.trajectories import Grid, Trajectories, require_people
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run

Leftover = Literal["merge", "suppress"]
LEFTOVER: Final[tuple[str, ...]] = get_args(Leftover)


@dataclass(frozen=True, kw_only=True)
class Glove:
    """Full-length k-anonymity by specialized generalization.

    k: smallest crowd. suppress_space_m, suppress_time_s: boxes with a larger extent (dx + dy; duration) are
    dropped after each merge and once more from the finished record (Sec. 7.1); None keeps all. generalize:
    the reading of reshaping. leftover: what becomes of the last crowd below k. space_cap_m, time_cap_s:
    stretches that count as total loss (Sec. 4.1).
    """

    takes_points: ClassVar[bool] = False
    k: int = 2
    suppress_space_m: float | None = None
    suppress_time_s: float | None = None
    generalize: Generalize = "k-merge"
    leftover: Leftover = "merge"
    space_cap_m: float = SPACE_CAP_M
    time_cap_s: float = TIME_CAP_S

    def __post_init__(self) -> None:
        self.claim()
        Caps(space_cap_m=self.space_cap_m, time_cap_s=self.time_cap_s)
        for name, value, known in (
            ("generalize", self.generalize, GENERALIZE),
            ("leftover", self.leftover, LEFTOVER),
        ):
            if value not in known:
                raise MisuseError(f"{name} = '{value}' is not known; choose one of {', '.join(known)}")
        for name, threshold in (
            ("suppress_space_m", self.suppress_space_m),
            ("suppress_time_s", self.suppress_time_s),
        ):
            if threshold is not None and not threshold > 0:
                raise MisuseError(
                    f"{name} = {threshold} would drop every sample; choose a value above 0, or None to keep "
                    "all"
                )

    def claim(self) -> KAnonymity:
        """k-anonymity; truthful and disjoint in time as the reading of reshaping allows."""
        return KAnonymity(
            k=self.k, truthful=self.generalize != "overlap-split", disjoint_in_time=self.generalize != "none"
        )

    def anonymize(
        self, original: Trajectories, rng: Randomness, run: Run | None = None
    ) -> tuple[Release, Linkage]:
        """The release and who became which record.

        Raises MisuseError with fewer than k people, NothingLeftError when suppression takes everybody.
        """
        crowds = self.crowds(original, run or Run())
        return assemble(
            original, crowds, claim=self.claim(), method="glove", parameters=self.parameters(), rng=rng
        )

    def parameters(self) -> dict[str, Any]:
        """All parameters, as a manifest holds them."""
        return asdict(self)

    def crowds(self, original: Trajectories, run: Run) -> list[Crowd]:
        """The crowds of at least k people with what is published for each of them."""
        grid = original.snapped_grid()
        require_people(original.n_subjects, self.k)
        caps = Caps(space_cap_m=self.space_cap_m, time_cap_s=self.time_cap_s)
        scale = caps.scale_on(grid)

        def join(first: Crowd, second: Crowd) -> Crowd:
            members = np.sort(np.concatenate([first.members, second.members]))
            if self.generalize == "k-merge" and len(members) >= self.k:
                return Crowd(members=members, boxes=self._kept(merge_members(original, members)[0], grid))
            merged = merge(first, second, scale)
            boxes = self._kept(merged.boxes, grid)
            return replace(
                merged,
                boxes=self._kept(unite_overlaps(boxes), grid) if self.generalize == "reshape-each" else boxes,
            )

        singles = [
            Crowd(members=np.array([i]), boxes=Boxes.of_samples(*original.samples_of(i)))
            for i in range(original.n_subjects)
        ]
        outcome = merge_greedily(singles, BandedPairs(original, caps, run), self.k, join, run)
        finished = outcome.finished
        if self.leftover == "merge" and finished:
            for short in outcome.short:
                place = _closest(short, finished, scale)
                first, second = sorted((finished[place], short), key=lambda crowd: int(crowd.members[0]))
                grown = join(first, second)
                if len(self._published(grown, original).boxes):
                    finished[place] = grown
        published = [self._published(crowd, original) for crowd in finished]
        return [crowd for crowd in published if len(crowd.boxes)]

    def _published(self, crowd: Crowd, original: Trajectories) -> Crowd:
        """A finished crowd with what is published of it, by the reading of reshaping."""
        match self.generalize:
            case "none" | "k-merge":
                boxes = crowd.boxes
            case "overlap-split":
                boxes = split_at_overlaps(crowd.boxes)
            case _:
                boxes = unite_overlaps(crowd.boxes)
        return replace(crowd, boxes=self._kept(boxes, original.snapped_grid()))

    def _kept(self, boxes: Boxes, grid: Grid) -> Boxes:
        """The boxes whose extents do not exceed the suppression thresholds."""
        if self.suppress_space_m is None and self.suppress_time_s is None:
            return boxes
        kept = np.ones(len(boxes), dtype=np.bool_)
        if self.suppress_space_m is not None:
            kept &= (
                boxes.x_max - boxes.x_min + boxes.y_max - boxes.y_min
            ) * grid.cell_m <= self.suppress_space_m
        if self.suppress_time_s is not None:
            kept &= (boxes.t_end - boxes.t_start) * grid.slot_s <= self.suppress_time_s
        return boxes.take(kept)


def _closest(short: Crowd, finished: list[Crowd], scale: Scale) -> int:
    """Position of the finished crowd with the least effort from the short one.

    The one with the first member of equals.
    """
    own = samples_of_boxes(short.boxes)
    return min(
        range(len(finished)),
        key=lambda place: (
            box_effort(
                own,
                len(short.members),
                samples_of_boxes(finished[place].boxes),
                len(finished[place].members),
                scale,
                np.inf,
            ),
            int(finished[place].members[0]),
        ),
    )
