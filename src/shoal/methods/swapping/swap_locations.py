"""SwapLocations: cluster trajectories, and shuffle whole triples in each cluster (swap-reach-locations.txt, Alg. 2 and 3)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from shoal.errors import MisuseError
from shoal.kernels.swap_sets import form_swap_sets
from shoal.measures.trajectory_distance import PATHS, Paths, trajectory_distances
from shoal.methods.points_assembly import assemble_points
from shoal.methods.swapping.microaggregation import CLUSTERING, Clustering, distances_within, microaggregate
from shoal.model.claims import TrajectoryPrivacy
from shoal.model.release import Linkage, PointRelease, Points
from shoal.model.trace import Trace
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run

NO_DURATION = "fewer than two different times"
APART = "no overlap in time with the largest group"
NOTHING_SWAPPED = "no point found a swap set"


@dataclass(frozen=True, kw_only=True)
class SwapLocations:
    """Trajectory k-anonymity in the sense of Def. 7 by permutation.

    Every published triple is somebody's true triple.

    k: trajectories in a cluster. time_threshold_s, space_threshold_m: R^t and R^s, how far a triple may be
    from the one that leads its swap set. clustering: see ``microaggregate``. paths: where distances are
    shortest paths, see ``trajectory_distances``.
    """

    takes_points: ClassVar[bool] = True
    k: int = 2
    time_threshold_s: float = 100.0
    space_threshold_m: float = 1_000_000.0
    clustering: Clustering = "greedy"
    paths: Paths = "disjoint"

    def __post_init__(self) -> None:
        self.claim()
        for name, value, known in (
            ("clustering", self.clustering, CLUSTERING),
            ("paths", self.paths, PATHS[1:]),
        ):
            if value not in known:
                raise MisuseError(f"{name} = '{value}' is not known; choose one of {', '.join(known)}")

    def claim(self) -> TrajectoryPrivacy:
        """Trajectory 1/k-privacy."""
        return TrajectoryPrivacy(
            k=self.k, time_threshold_s=self.time_threshold_s, space_threshold_m=self.space_threshold_m
        )

    def parameters(self) -> dict[str, Any]:
        """All parameters, as a manifest holds them."""
        return asdict(self)

    def anonymize(
        self, original: Trajectories, rng: Randomness, run: Run | None = None
    ) -> tuple[PointRelease, Linkage]:
        """The release and, with its trace, who became which record: the trajectory whose place it took.

        Raises MisuseError when the largest group of trajectories that overlap has fewer than k,
        NothingLeftError when nothing is swapped.
        """
        clusters, why, facts = self.clusters(original, run or Run())
        return self.swap(original, clusters, why, facts, rng)

    def clusters(
        self, original: Trajectories, run: Run
    ) -> tuple[list[Integers], dict[str, int], dict[str, float]]:
        """Clusters (positions of trajectories), how many trajectories are in none by reason, and figures of the clustering."""
        original.require_points_as_given()
        kept = run.kept("clusters", lambda: self._clustered(original, run))
        clusters = np.split(kept["members"], np.cumsum(kept["sizes"])[:-1])
        lost = {NO_DURATION: int(kept["left_out"][0]), APART: int(kept["left_out"][1])}
        return (
            clusters,
            lost,
            {
                "clusters": len(clusters),
                "components": int(kept["left_out"][2]),
                "distances_within_clusters": float(kept["within"][0]),
            },
        )

    def _clustered(self, original: Trajectories, run: Run) -> dict[str, Any]:
        found = trajectory_distances(original, paths=self.paths, run=run)
        kept = found.kept
        if len(kept) < self.k:
            raise MisuseError(
                f"k = {self.k} needs {self.k} trajectories that overlap in time, if only through others; "
                "the largest group here has "
                f"{len(kept)} of {original.n_subjects} ({found.not_comparable} have fewer than two "
                "different times); choose a smaller k"
            )
        distances = found.matrix if len(kept) == original.n_subjects else found.matrix[np.ix_(kept, kept)]
        groups = microaggregate(distances, self.k, self.clustering)
        return {
            "members": kept[np.concatenate(groups)],
            "sizes": np.array([len(group) for group in groups]),
            "left_out": np.array([found.not_comparable, found.elsewhere, int(found.component.max()) + 1]),
            "within": np.array([distances_within(distances, groups)]),
        }

    def swap(
        self,
        original: Trajectories,
        clusters: Sequence[Integers],
        lost: dict[str, int],
        facts: dict[str, float],
        rng: Randomness,
    ) -> tuple[PointRelease, Linkage]:
        """Alg. 3 in each cluster: a random member leads and the others are asked in random order.

        Sets are shuffled, self included.
        """
        used, owner_after = (
            np.zeros(original.n_samples, dtype=np.bool_),
            np.full(original.n_samples, -1, dtype=np.int64),
        )
        sets_of: list[Integers] = []
        for cluster in clusters:
            members = cluster[rng.permutation(len(cluster))]
            rows = np.empty((int(original.lengths[members[0]]), len(members)), dtype=np.int64)
            n = form_swap_sets(
                original.offsets,
                original.t,
                original.x,
                original.y,
                members,
                self.time_threshold_s,
                self.space_threshold_m,
                used,
                rows,
            )
            rows = rows[:n]
            owner_after[rows] = members[rng.permutations(n, len(members))]
            sets_of.append(rows)
        return self._release(original, sets_of, owner_after, lost, facts, rng)

    def _release(
        self,
        original: Trajectories,
        sets_of: Sequence[Integers],
        owner_after: Integers,
        lost: dict[str, int],
        facts: dict[str, float],
        rng: Randomness,
    ) -> tuple[PointRelease, Linkage]:
        """The triples under the trajectories they came to.

        owner_after: [m] whose each triple is now, -1 = removed.
        """
        published = np.flatnonzero(owner_after >= 0)
        by_record = published[np.argsort(owner_after[published], kind="stable")]
        members, counts = np.unique(owner_after[by_record], return_counts=True)
        release, linkage, rows = assemble_points(
            original,
            members,
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            points_of(original, by_record, by_record),
            claim=self.claim(),
            method="swap-locations",
            parameters=self.parameters(),
            stands_for=by_record,
            rng=rng,
        )
        set_of = np.full(original.n_samples, -1, dtype=np.int64)
        sizes = np.concatenate([np.full(len(rows), rows.shape[1]) for rows in sets_of])
        set_rows = np.concatenate([rows.ravel() for rows in sets_of])
        set_of[set_rows] = np.repeat(np.arange(len(sizes)), sizes)
        origin = by_record[rows]
        trace = Trace(
            time_from=origin,
            place_from=origin,
            swap_set=set_of[origin],
            set_offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            set_rows=set_rows,
            place_of=people_at(original, origin),
            facts=facts,
        )
        return with_reasons(release, lost), replace(linkage, trace=trace)


def people_at(original: Trajectories, rows: Integers) -> tuple[str, ...]:
    """The subject of each of these raw samples."""
    return tuple(
        original.ids[i] for i in (np.searchsorted(original.offsets, rows, side="right") - 1).tolist()
    )


def points_of(original: Trajectories, time_from: Integers, place_from: Integers) -> Points:
    """Points with the times of some raw samples and the places of others."""
    degrees = (
        {}
        if original.lat is None or original.lon is None
        else {"lat": original.lat[place_from], "lon": original.lon[place_from]}
    )
    return Points(t=original.t[time_from], x=original.x[place_from], y=original.y[place_from], **degrees)


def with_reasons(release: PointRelease, lost: dict[str, int]) -> PointRelease:
    """The release with its suppressed subjects by reason; those not told of had no swapped point left."""
    rest = release.losses.subjects_suppressed - sum(lost.values())
    reasons = {reason: count for reason, count in {**lost, NOTHING_SWAPPED: rest}.items() if count}
    return replace(release, losses=replace(release.losses, subjects_by_reason=reasons))
