"""GLOVE: merge the most similar until every class has k (Gramaglia, Fiore 2015, Alg. 1)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Final, Literal, get_args

import numpy as np

from shoal.errors import MisuseError
from shoal.kernels.stretch import Scale, box_effort
from shoal.measures.near_places import require_sensitive
from shoal.measures.stretch import SPACE_CAP_M, TIME_CAP_S, Caps, samples_of_boxes
from shoal.messages import say
from shoal.methods.assembly import EquivalenceClass
from shoal.methods.glove.closest_pairs import BandedPairs
from shoal.methods.glove.greedy import (
    GENERALIZE,
    UNBOUNDED,
    Bounds,
    Generalize,
    merge,
    merge_greedily,
    split_at_overlaps,
    unite_overlaps,
)
from shoal.methods.glove.omission import Budget, fit_boxes, omit_samples
from shoal.methods.glove.refine import halve_people, refine_classes
from shoal.methods.hulls import hull_parameter, leaves_for, publish_classes, put_on_leaves
from shoal.methods.k_merge import merge_crowds, merge_members
from shoal.methods.method import About, DeclaredMethod, local_generalization
from shoal.methods.parameters import (
    ABOVE_0,
    SHARE_ABOVE_0,
    SHARE_BELOW_1,
    Bound,
    at_least,
    k_parameter,
    parameter,
    require_declared,
)
from shoal.model.argument_checks import require_method_inputs, require_people
from shoal.model.claims import KAnonymity
from shoal.model.claims.common import require_k
from shoal.model.claims.hull import EXTENT_FORMS, parse_extents, parse_hull
from shoal.model.grid import Grid
from shoal.model.omission import ANY_SHARE
from shoal.model.release import Boxes, Released
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run

RECOMMENDED: Final = {"refine": "on", "hull": "grid:500m"}  # best for a given risk: decision 0254
Start = Literal["greedy", "halves"]
START: Final[tuple[str, ...]] = get_args(Start)
Leftover = Literal["merge", "suppress"]
SuppressBy = Literal["boxes", "samples"]
ABOVE_NOTHING: Final = Bound(
    lambda extent: extent > 0,
    say("bound.drops_all", "would drop every sample; choose a value above 0, or leave it out to keep all"),
)


@dataclass(frozen=True, kw_only=True)
class Glove(DeclaredMethod):
    """Full-length k-anonymity by specialized generalization.

    An observer who knows any part of a person's movement, even all of it, finds at least k equal records.

    Parameters
    ----------
    k
        Smallest equivalence class.
    suppress_space_m, suppress_time_s
        Drop boxes with a larger extent (dx + dy in meters; duration in seconds) after each merge and at the
        end (Sec. 7.1). None keeps all.
    suppress_by
        What these thresholds apply to. "boxes": whole boxes. "samples": a sample is left out of a merge when
        its hull with its partner is larger, the second reading of Sec. 7.1; needs a reading of the paper's
        reshaping, and boxes may exceed the thresholds.
    extent_at_most
        Largest extents of a box, dx + dy and duration, such as "5km,2h". Boxes of a finished class hold as
        many samples as fit; the others are left out. Only with "k-merge". None covers everything.
    generalize
        How boxes that overlap in time are resolved: "k-merge" forms classes as GLOVE does and generalizes
        their raw samples at least cost; the others are readings of the paper's reshaping (Sec. 6.2).
    leftover
        The last class below k: "merge" joins it to the closest finished one, "suppress" leaves it out.
    start
        How classes are first formed: "greedy" as in the paper, or "halves", which splits people repeatedly by
        place and activity and takes almost no time; only with ``refine``.
    refine
        Exchange people between classes and cut their samples into boxes by a local search that shrinks
        extents; only with "k-merge".
    refine_rounds
        Rounds of that search over all classes; 0 = none.
    omit_at_most
        Share of all samples, and of all people, that may be left out of finished classes where this shrinks
        the other boxes; only with "k-merge". 0 covers everything.
    omit_of_one_at_most
        The same share for each person who stays; None = 4 times omit_at_most, at most half.
    space_cap_m, time_cap_s
        Stretches in meters and seconds that count as total loss (Sec. 4.1).
    hull
        How far boxes extend beyond the hulls of their samples, as ``parse_hull`` reads it.
    diverse_places
        Kinds of places in each box that is near a sensitive place of the data, an ordinary one among them;
        boxes with fewer are joined with the next in time. 1 joins none.

    References
    ----------
    Gramaglia and Fiore 2015, Alg. 1 and Sec. 6; for "k-merge" Gramaglia et al. 2017, Alg. 1.

    Examples
    --------
    >>> import shoal
    >>> calls = shoal.read(shoal.synthesize(60, 1, 1))
    >>> release, linkage = shoal.Glove(k=3).anonymize(calls, shoal.Randomness.from_system())
    >>> shoal.verify(calls, release, linkage).holds
    True
    """

    about: ClassVar[About] = About(
        name="glove",
        title="GLOVE",
        techniques=(local_generalization("the samples of a crowd become areas and intervals"),),
        claim=KAnonymity,
        publishes="boxes",
        summary="groups people with similar movements into crowds, and publishes areas and times that a "
        "whole crowd shares.",
        page="glove",
        as_published={"generalize": "reshape-each"},
    )

    k: int = k_parameter(meaning="the fewest records that fit one person")
    suppress_space_m: float | None = parameter(
        default=None,
        unit="m",
        bound=ABOVE_NOTHING,
        unset="keep all",
        help="Drop boxes wider than this (dx + dy).",
        meaning="boxes wider than this (dx + dy) are left out",
    )
    suppress_time_s: float | None = parameter(
        default=None,
        unit="s",
        bound=ABOVE_NOTHING,
        unset="keep all",
        help="Drop boxes longer than this.",
        meaning="boxes longer than this are left out",
    )
    suppress_by: SuppressBy = parameter(
        default="boxes",
        choices=get_args(SuppressBy),
        help="What --suppress-space and --suppress-time drop: whole boxes, or samples too far from their "
        "own partner in a merge.",
        meaning="whether whole boxes were left out, or samples too far from the one they were merged with",
    )
    extent_at_most: str | None = parameter(
        default=None,
        written=EXTENT_FORMS,
        unset="cover everything",
        help="Largest boxes (dx + dy, duration), e.g. 5km,2h; what does not fit is left out and counted.",
        meaning="the largest extents of a box (dx + dy, duration); samples that did not fit were left out",
    )
    generalize: Generalize = parameter(
        default="k-merge",
        choices=GENERALIZE,
        help="What becomes of boxes that overlap in time.",
        meaning="how the samples of a crowd become boxes that do not overlap in time",
    )
    leftover: Leftover = parameter(
        default="merge",
        choices=get_args(Leftover),
        help="What becomes of a last crowd below k.",
        meaning="what happens to the last people, too few for a crowd of their own",
    )
    start: Start = parameter(
        default="greedy",
        choices=START,
        help="How crowds are formed first: as the paper says, or by halving the population, for --refine.",
        meaning="how crowds were formed first: by merging the closest, or by halving the population",
    )
    refine: bool = parameter(
        default=False,
        switch=True,
        help="Exchange people between crowds, so that boxes shrink.",
        meaning="whether people then changed places between crowds, so that boxes are smaller",
    )
    refine_rounds: int = parameter(
        default=3,
        unit="rounds",
        bound=at_least(0),
        help="How often the search for better crowds goes over all of them.",
        meaning="how often the search for better crowds went over all of them, if there was one",
    )
    omit_at_most: float = parameter(
        default=0.0,
        unit="share",
        bound=SHARE_BELOW_1,
        help="Samples that may be left out so that boxes shrink, and people, as shares of all.",
        meaning="share of all samples, and of all people, that may be left out so that boxes shrink",
    )
    omit_of_one_at_most: float | None = parameter(
        default=None,
        unit="share",
        bound=SHARE_ABOVE_0,
        unset="4 times --omit-at-most up to 50%",
        help="Samples that a person may lose so, unless all, as a share of the own ones.",
        meaning="share of the own samples that a person with a record may lose so; with none, 4 times "
        "the share of all samples and half of the own at most",
    )
    space_cap_m: float = parameter(
        default=SPACE_CAP_M,
        unit="m",
        bound=ABOVE_0,
        help="Stretch in space that counts as total loss.",
        meaning="a merge that stretches a place by this much or more counts as a total loss of position",
    )
    time_cap_s: float = parameter(
        default=TIME_CAP_S,
        unit="s",
        bound=ABOVE_0,
        help="Stretch in time that counts as total loss.",
        meaning="a merge that stretches a time by this much or more counts as a total loss of time",
    )

    hull: str = hull_parameter()
    diverse_places: int = parameter(
        default=1,
        unit="kinds",
        bound=at_least(1),
        help="Kinds of places in each box near places of --sensitive, an ordinary one among them; 1: any.",
        meaning="the fewest kinds of places in a box near a sensitive one, an ordinary one among them",
    )

    def __post_init__(self) -> None:
        require_k(self.k)
        require_declared(self)
        self.claim()
        if self.suppress_by == "samples" and self.generalize == "k-merge":
            raise MisuseError(
                "suppress_by = 'samples' leaves samples out of GLOVE's own merge, which k-merge does again "
                "with all of them; choose generalize = 'reshape-each', or suppress_by = 'boxes'"
            )
        if self.refine and self.generalize != "k-merge":
            raise MisuseError(
                f"refine lowers the extents of k-merge's boxes, and generalize = '{self.generalize}' makes "
                "others; choose k-merge, or leave refine out"
            )
        if self.start == "halves" and not (self.refine and self.refine_rounds):
            raise MisuseError(
                "start = 'halves' makes crowds that only the refinement makes good ones; set --refine, or "
                "choose start = 'greedy'"
            )
        self._require_extents()
        self._require_omission()
        if parse_hull(self.hull).leaf_places and (
            self._has_thresholds or self.extent_at_most is not None or self.omit_at_most
        ):
            raise MisuseError(
                "--omit-at-most, --extent-at-most, --suppress-space and --suppress-time measure boxes before "
                "they become whole leaves; leave them out, or choose another hull"
            )

    @property
    def _has_thresholds(self) -> bool:
        return self.suppress_space_m is not None or self.suppress_time_s is not None

    def _require_extents(self) -> None:
        if self.extent_at_most is None:
            return
        parse_extents(self.extent_at_most)
        object.__setattr__(self, "extent_at_most", self.extent_at_most.replace(" ", ""))
        if self.generalize != "k-merge":
            raise MisuseError(
                f"--extent-at-most chooses k-merge's boxes by their extents, and generalize = "
                f"'{self.generalize}' makes others; choose k-merge, or leave --extent-at-most out"
            )
        if self._has_thresholds:
            raise MisuseError(
                "--extent-at-most keeps what fits into boxes of that size, and --suppress-space and "
                "--suppress-time drop whole boxes; choose one of them"
            )

    def _require_omission(self) -> None:
        if not self.omit_at_most:
            if self.omit_of_one_at_most is not None:
                raise MisuseError(
                    "--omit-of-one-at-most bounds what --omit-at-most leaves out, which is 0; set "
                    "--omit-at-most, for example 0.05"
                )
            return
        if self.generalize != "k-merge":
            raise MisuseError(
                f"--omit-at-most leaves samples out of k-merge's boxes, and generalize = '{self.generalize}' "
                "makes others; choose k-merge, or leave --omit-at-most out"
            )
        if self._has_thresholds or self.extent_at_most is not None:
            raise MisuseError(
                "--omit-at-most bounds how much is left out, and --suppress-space, --suppress-time and "
                "--extent-at-most leave out without a bound; choose one of them"
            )
        if self.leftover != "merge":
            raise MisuseError(
                "--omit-at-most bounds how many people are left out, and leftover = 'suppress' leaves out "
                "others besides; choose leftover = 'merge'"
            )

    def claim(self) -> KAnonymity:
        """k-anonymity; truthful and disjoint in time as the reading of reshaping allows."""
        return KAnonymity(
            k=self.k,
            truthful=self.generalize != "overlap-split",
            disjoint_in_time=self.generalize != "none",
            hull=self.hull,
            missing_at_most=self.omit_at_most or ANY_SHARE,
            missing_of_one_at_most=self._budget().of_one if self.omit_at_most else ANY_SHARE,
            diverse_places=self.diverse_places,
        )

    def anonymize(self, original: Trajectories, rng: Randomness, run: Run | None = None) -> Released:
        """The release and its linkage.

        NothingLeftError when suppression leaves no one.
        """
        require_method_inputs(original, rng)
        run = run or Run()
        return self.release_of(original, self.crowds(original, run), rng, run)

    def release_of(
        self, original: Trajectories, crowds: Sequence[EquivalenceClass], rng: Randomness, run: Run
    ) -> Released:
        """The release of ``crowds``, which may be those of other omission, or of another hull but leaves."""
        return publish_classes(self, original, self._omit(original, crowds, run), self.hull, rng)

    def classes(self, original: Trajectories, run: Run) -> list[EquivalenceClass]:
        """Classes of at least k people with their boxes, tight around samples or middles of leaves."""
        return self._omit(original, self.crowds(original, run), run)

    def crowds(self, original: Trajectories, run: Run) -> list[EquivalenceClass]:
        """The classes before any sample is left out."""
        require_people(original.n_subjects, self.k)
        if self.diverse_places > 1:
            require_sensitive(original)
        original = put_on_leaves(original, leaves_for(original, self.hull))
        halves = self.start == "halves"
        finished = halve_people(original, self.k, run) if halves else self._merge_classes(original, run)
        return self._refine(original, finished, self.refine_rounds, run)

    def classes_of(self, original: Trajectories, crowds: list[Integers], run: Run) -> list[EquivalenceClass]:
        """Classes with exactly these members, without those that lose every box; needs "k-merge"."""
        if self.generalize != "k-merge":
            raise MisuseError(
                "crowds that are chosen beforehand get k-merge's boxes, and generalize = "
                f"'{self.generalize}' makes others; choose k-merge"
            )
        refined = self._refine(original, list(self._k_merged(original, run, crowds)), 0, run)
        return self._omit(original, refined, run)

    def _k_merged(
        self, original: Trajectories, run: Run, crowds: list[Integers]
    ) -> Iterator[EquivalenceClass]:
        for members, boxes in zip(crowds, merge_crowds(original, crowds, run), strict=True):
            kept = self._drop_large_boxes(boxes, original.snapped_grid())
            yield EquivalenceClass(members=members, boxes=kept)

    def _refine(
        self, original: Trajectories, finished: list[EquivalenceClass], rounds: int, run: Run
    ) -> list[EquivalenceClass]:
        if self.refine and self.refine_rounds and finished:
            return refine_classes(original, finished, self.k, rounds, run)
        return finished

    def _omit(
        self, original: Trajectories, finished: Sequence[EquivalenceClass], run: Run
    ) -> list[EquivalenceClass]:
        if self.extent_at_most is not None and finished:
            finished = fit_boxes(original, finished, parse_extents(self.extent_at_most), run)
        if self.omit_at_most and finished:
            finished = omit_samples(original, finished, self._budget(), run)
        published = [self._finish_class(crowd, original) for crowd in finished]
        return [crowd for crowd in published if len(crowd.boxes)]

    def _merge_classes(self, original: Trajectories, run: Run) -> list[EquivalenceClass]:
        grid = original.snapped_grid()
        caps = Caps(space_cap_m=self.space_cap_m, time_cap_s=self.time_cap_s)
        scale, bounds = caps.scale_on(grid), UNBOUNDED
        if self.suppress_by == "samples":
            space_m, time_s = (most or np.inf for most in (self.suppress_space_m, self.suppress_time_s))
            bounds = Bounds(space_m / grid.cell_m, time_s / grid.slot_s)

        def join(first: EquivalenceClass, second: EquivalenceClass) -> EquivalenceClass:
            members = np.sort(np.concatenate([first.members, second.members]))
            if self.generalize == "k-merge" and len(members) >= self.k:
                boxes = merge_members(original, members)[0]
            else:
                boxes = merge(first, second, scale, bounds).boxes
            if self.generalize == "reshape-each":
                boxes = unite_overlaps(self._drop_large_boxes(boxes, grid))
            return EquivalenceClass(members=members, boxes=self._drop_large_boxes(boxes, grid))

        finish = partial(self._k_merged, original, run) if self.generalize == "k-merge" else None
        pairs = BandedPairs(original, caps, run)
        outcome = merge_greedily(original, pairs, self.k, join, run, finish)
        finished = outcome.finished
        if self.leftover == "merge" and finished:
            for short in outcome.short:
                place = _find_closest(short, finished, scale)
                first, second = sorted((finished[place], short), key=lambda crowd: int(crowd.members[0]))
                grown = join(first, second)
                if len(self._finish_class(grown, original).boxes):
                    finished[place] = grown
        return finished

    def _finish_class(self, finished: EquivalenceClass, original: Trajectories) -> EquivalenceClass:
        boxes = finished.boxes
        if self.generalize not in ("none", "k-merge"):
            boxes = (split_at_overlaps if self.generalize == "overlap-split" else unite_overlaps)(boxes)
        boxes_kept = self._drop_large_boxes(boxes, original.snapped_grid())
        return finished if boxes_kept is finished.boxes else replace(finished, boxes=boxes_kept)

    def _budget(self) -> Budget:
        return Budget.of(self.omit_at_most, self.omit_of_one_at_most)

    def _drop_large_boxes(self, boxes: Boxes, grid: Grid) -> Boxes:
        if self.suppress_by != "boxes" or not self._has_thresholds:
            return boxes
        fits = np.ones(len(boxes), dtype=np.bool_)
        if self.suppress_space_m is not None:
            cells = boxes.x_max - boxes.x_min + boxes.y_max - boxes.y_min
            fits &= cells * grid.cell_m <= self.suppress_space_m
        if self.suppress_time_s is not None:
            fits &= (boxes.t_end - boxes.t_start) * grid.slot_s <= self.suppress_time_s
        return boxes.take(fits)


def _find_closest(short: EquivalenceClass, finished: list[EquivalenceClass], scale: Scale) -> int:
    samples, n = samples_of_boxes(short.boxes), len(short.members)
    least, closest = (np.inf, 0), 0
    for place, one in enumerate(finished):
        effort = box_effort(samples, n, samples_of_boxes(one.boxes), len(one.members), scale, least[0])
        if (effort, int(one.members[0])) < least:  # of equal efforts the first member decides
            least, closest = (effort, int(one.members[0])), place
    return closest
