"""The facts of a release: what raw data, release and linkage tell together, each computed once, on demand.

A publication has one ``Facts``, which every metric, figure and page asks by name. The verifier does not: it
derives everything again for itself.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from shoal.errors import MisuseError
from shoal.measures.k_gap import KGap, drawn_people, k_gaps
from shoal.measures.query import Estimate, Estimates, Zones, people_in_zones
from shoal.model.claims import PayloadKind
from shoal.model.linkage_checks import require_linked_records
from shoal.model.release import Boxes, Linkage, Release
from shoal.model.trajectories import Grid, Trajectories
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.run import Run
from shoal.utility import queries
from shoal.utility.accuracy import Accuracy, accuracy_of, covering_extents_of
from shoal.utility.measuring import Measurement
from shoal.utility.points import PointUtility, space_distortion

Flags = npt.NDArray[np.bool_]

KS: Final = (2, 5)
_ZONES_ACROSS: Final = 16


class Facts:
    """Raw data and a release of it; what several readers need is computed once and kept.

    Parameters
    ----------
    original
        The raw data: on the release's grid for boxes, as given for points.
    release
        What is published.
    linkage
        Who became which record.
    run
        Where progress is reported and how many threads may work.
    gaps
        The k-gaps, where they are known already; otherwise they are computed when first asked for.
    exact
        Whether figures are of everybody where they could be of people drawn at random, with intervals.

    Raises
    ------
    InputError
        When the three do not belong together.
    """

    def __init__(
        self,
        original: Trajectories,
        release: Release,
        linkage: Linkage,
        *,
        run: Run | None = None,
        gaps: Sequence[KGap] | None = None,
        exact: bool = False,
    ) -> None:
        self.original, self.release, self.linkage = original, release, linkage
        self.run = run or Run()
        self.exact = exact
        self.measurements: dict[str, Measurement] = {}
        self.records: Integers = require_linked_records(original, release, linkage)
        if gaps is not None:
            self.gaps = tuple(gaps)

    @property
    def both(self) -> tuple[Trajectories | Release, ...]:
        """Raw data and release, to ask the same of either, at once where there are two threads."""
        return self.original, self.release

    @cached_property
    def on_grid(self) -> "Facts":
        """The same release on cells and slots: of 100 m and 60 s where it holds points as given."""
        if self.release.payload.on_grid:
            return self
        snapped = self.original.snapped_to(Grid())
        boxes = self.release.as_boxes(snapped.snapped_grid())
        return Facts(snapped, boxes, self.linkage, run=self.run, exact=self.exact)

    def let_go_of_cells(self) -> None:
        """Keep points on a grid no longer, where they take twice the memory; who asks gets them anew."""
        self.__dict__.pop("on_grid", None)

    @cached_property
    def gaps(self) -> tuple[KGap, ...]:
        """The k-gaps of the raw data at k = 2, 5 and the claim's k, as far as there are so many people.

        Of many people, those of ``drawn_people`` stand for all unless exact figures are asked for.
        """
        raw = self.on_grid.original
        ks = [k for k in sorted({*KS, self.release.claim.k}) if 2 <= k <= raw.n_subjects]
        people = None if self.exact else drawn_people(raw.n_subjects)
        with self.run.stage("k-gaps"):
            return tuple(k_gaps(raw, ks, run=self.run, subjects=people))

    def extents_of(self, subjects: Integers | None = None) -> tuple[Integers, Integers]:
        """([m] cells, [m] slots): extents of the own record's box over each raw sample; -1 = none.

        In 32 bits where they fit. subjects: of these alone, positions that ascend; None = of everybody.
        """
        if subjects is None:
            return covering_extents_of(self.original, self.release, self.records)
        return covering_extents_of(self.original.keep(subjects), self.release, self.records[subjects])

    @cached_property
    def _kept_and_lost(self) -> tuple[Accuracy, Flags]:
        """What one look at all extents tells: nobody keeps them, as they are as large as the data."""
        with self.run.stage("accuracy"):
            cells, slots = self.extents_of()
            return accuracy_of(self.release, cells, slots), slots < 0

    @property
    def accuracy(self) -> Accuracy:
        """What the boxes leave of place and time."""
        return self._kept_and_lost[0]

    @cached_property
    def lost(self) -> Flags | None:
        """[m] booleans: the raw samples that the release does not hold; None where the linkage cannot tell.

        Of boxes: those that no box of their own person's record covers. Of points: those that no published
        point stands for. Raises MisuseError when the linkage tells of another number than the release.
        """
        return _LOST[self.release.kind](self)

    @cached_property
    def distortion(self) -> PointUtility:
        """How far raw samples lie from their own person's published line. Of points alone."""
        return space_distortion(self.original, self.release, self.records)

    @cached_property
    def zones(self) -> Zones:
        """Square zones of whole cells over the raw data, about 16 on its longer side."""
        x, y, cell_m = self.original.x, self.original.y, self.original.snapped_grid().cell_m
        side_cells = max(int(x.max() - x.min()) + 1, int(y.max() - y.min()) + 1)
        return Zones.over(self.original, max(1, -(-side_cells // _ZONES_ACROSS)) * cell_m)

    @cached_property
    def visitors(self) -> tuple[Floats, Estimates]:
        """[zones] people seen in each zone, in the raw data and as the release lets it be estimated."""
        true = people_in_zones(self.original, self.zones, self.run).expected
        return true, people_in_zones(self.release, self.zones, self.run)

    @cached_property
    def range_counts(self) -> tuple[list[float], list[Estimate]]:
        """People in 200 random areas and intervals, in the raw data and as the release estimates them."""
        return queries.ask(self.original, self.release, self.run)

    @cached_property
    def n_published(self) -> int:
        """How many people have a record."""
        return int(np.count_nonzero(self.records >= 0))

    def linked(self) -> list[tuple[int, Boxes]]:
        """(subject, boxes of the record) of everybody who is in the release."""
        return [
            (subject, self.release.record(record))
            for subject, record in enumerate(self.records.tolist())
            if record >= 0
        ]


def _not_covered(facts: Facts) -> Flags | None:
    return facts._kept_and_lost[1]


def _without_a_point(facts: Facts) -> Flags | None:
    """Swapping tells them in its trace, so that files suffice; other methods know them while they run."""
    rows = facts.linkage.stands_for
    if rows is None and facts.linkage.trace is not None:
        rows = facts.linkage.trace.time_from
    if rows is None:
        return None
    kept = rows[rows >= 0]
    lost = np.ones(facts.original.n_samples, dtype=np.bool_)
    if len(rows) == facts.release.n_samples and kept.max(initial=0) < facts.original.n_samples:
        lost[kept] = False
    if np.count_nonzero(lost) != facts.release.losses.samples_suppressed:
        raise MisuseError(
            "the linkage tells of other lost samples than the release counts; use the linkage that was made "
            "with this release"
        )
    return lost


_LOST: Final[Mapping[PayloadKind, Callable[[Facts], Flags | None]]] = {
    "boxes": _not_covered,
    "points": _without_a_point,
}
