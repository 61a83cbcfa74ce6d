"""SwapLocations: shuffle triples within clusters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from shoal.errors import MisuseError
from shoal.kernels.passing import Lines
from shoal.kernels.swap_sets import form_swap_sets
from shoal.measures.trajectory_distance import (
    PATHS,
    PENALTY_POWERS,
    Paths,
    Penalty,
    matrix_of,
    submatrix_in_place,
    trajectory_graph,
)
from shoal.methods.method import About, DeclaredMethod, permutation
from shoal.methods.parameters import SHARE_ABOVE_0, k_parameter, parameter
from shoal.methods.swapping.exchange import (
    CLUSTERING,
    Clustering,
    Exchange,
    distances_within,
    distances_within_graph,
    microaggregate,
    microaggregate_graph,
    publish_exchange,
)
from shoal.model.argument_checks import require_method_inputs, require_people
from shoal.model.claims import TrajectoryPrivacy
from shoal.model.omission import APART, NO_DURATION
from shoal.model.release import Released
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers, offsets_of
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run

_STEPS: Final = 1 << 32  # of a chance


@dataclass(frozen=True, kw_only=True)
class SwapLocations(DeclaredMethod):
    """Trajectory k-anonymity in the sense of Def. 7, by permutation.

    Every published triple (time and place) is somebody's true triple, in another person's record.

    Parameters
    ----------
    k
        Smallest cluster of trajectories.
    time_threshold_s, space_threshold_m
        Largest distance of a triple, in seconds and in meters, from the leader of its swap set (R^t and R^s).
    clustering
        "greedy" (Sec. 7.1.1) or "mdav" with medoids.
    paths
        Which distances are shortest paths through other trajectories: "disjoint", between those that do not
        overlap in time, or "all".
    penalty
        Cost of little common time: "inverse" divides a distance by the percentage of common time (Def. 12),
        "inverse-square" by its square, "none" by nothing.
    publish_share
        Chance of each swap set to be published and not removed, so that fewer points can be joined into
        paths.

    References
    ----------
    Domingo-Ferrer and Trujillo-Rasua 2012, Def. 6, 7 and 12, Alg. 2 and 3.

    Examples
    --------
    >>> import shoal
    >>> calls = shoal.read(shoal.synthesize(60, 1, 1, layout="city"), snap=False)
    >>> method = shoal.SwapLocations(k=3, time_threshold_s=3600)
    >>> release, linkage = method.anonymize(calls, shoal.Randomness.from_system())
    >>> shoal.verify(calls, release, linkage).holds
    True
    """

    about: ClassVar[About] = About(
        name="swap-locations",
        title="SwapLocations",
        techniques=(permutation("samples are exchanged between people"),),
        claim=TrajectoryPrivacy,
        publishes="points",
        summary="publishes true points, exchanged among several people. Paths can often be joined again.",
        page="swap-locations",
        as_published={"clustering": "mdav", "paths": "all"},
    )

    k: int = k_parameter(meaning="the fewest people in a cluster, who exchange their points among each other")
    time_threshold_s: float = parameter(
        default=100.0,
        unit="s",
        help="How far apart in time swapped points may be.",
        meaning="how far in time a point may be from the one that leads its swap set",
    )
    space_threshold_m: float = parameter(
        default=1_000_000.0,
        unit="m",
        help="How far apart in space swapped points may be.",
        meaning="how far in space a point may be from the one that leads its swap set",
    )
    clustering: Clustering = parameter(
        default="greedy",
        choices=CLUSTERING,
        help="How trajectories are brought together in groups of k.",
        meaning="how trajectories were brought together in groups of k",
    )
    paths: Paths = parameter(
        default="disjoint",
        choices=PATHS[1:],
        option="distance-paths",
        help="Where a shortest path stands in for a distance: between trajectories that never meet in time, "
        "or all.",
        meaning="between which trajectories the distance is a shortest path through others",
    )
    penalty: Penalty = parameter(
        default="inverse",
        choices=tuple(PENALTY_POWERS),
        option="distance-penalty",
        help="What little common time costs: a distance divided by the percentage of common time, by its "
        "square, or by nothing.",
        meaning="whether the distance of trajectories grows as they have less time in common",
    )
    publish_share: float = parameter(
        default=1.0,
        unit="share",
        bound=SHARE_ABOVE_0,
        help="Chance of each swap set to be published.",
        meaning="chance of each set of exchanged points to be published, and not left out",
    )

    def claim(self) -> TrajectoryPrivacy:
        """Trajectory 1/k-privacy."""
        return TrajectoryPrivacy(
            k=self.k, time_threshold_s=self.time_threshold_s, space_threshold_m=self.space_threshold_m
        )

    def anonymize(self, original: Trajectories, rng: Randomness, run: Run | None = None) -> Released:
        """The release and its linkage with a trace; a record is the subject's whose place it took.

        MisuseError when fewer than k overlap, NothingLeftError when nothing is swapped.
        """
        require_method_inputs(original, rng)
        clusters, left_out, facts = self.clusters(original, run or Run())
        return self.swap(original, clusters, left_out, facts, rng)

    def clusters(
        self, original: Trajectories, run: Run
    ) -> tuple[list[Integers], dict[str, int], dict[str, float]]:
        """Clusters, trajectories in none by reason, and figures."""
        original.require_points_as_given()
        require_people(original.n_subjects, self.k)
        stored = run.load_or_make("clusters", lambda: self._cluster(original, run))
        clusters = np.split(stored["members"], np.cumsum(stored["sizes"])[:-1])
        left_out = {NO_DURATION: int(stored["left_out"][0]), APART: int(stored["left_out"][1])}
        return (
            clusters,
            left_out,
            {
                "clusters": len(clusters),
                "components": int(stored["left_out"][2]),
                "distances_within_clusters": float(stored["within"][0]),
            },
        )

    def _cluster(self, original: Trajectories, run: Run) -> dict[str, Any]:
        graph, component = trajectory_graph(original, paths=self.paths, penalty=self.penalty, run=run)
        connected, not_comparable = np.flatnonzero(component == 0), int(np.count_nonzero(component < 0))
        if len(connected) < self.k:
            raise MisuseError(
                f"k = {self.k} needs {self.k} trajectories that overlap in time, if only through others; the "
                f"largest group here has {len(connected)} of {original.n_subjects} ({not_comparable} have "
                "fewer than two different times); choose a smaller k"
            )
        if self.clustering == "greedy":
            members = microaggregate_graph(graph, connected, self.k)
            within = distances_within_graph(graph, members)
        else:
            matrix = submatrix_in_place(matrix_of(graph, run), connected)
            groups = microaggregate(matrix, self.k)
            members, within = [connected[group] for group in groups], distances_within(matrix, groups)
        return {
            "members": np.concatenate(members),
            "sizes": np.array([len(group) for group in members]),
            "left_out": np.array(
                [not_comparable, np.count_nonzero(component > 0), int(component.max()) + 1], dtype=np.int64
            ),
            "within": np.array([within]),
        }

    def swap(
        self,
        original: Trajectories,
        clusters: Sequence[Integers],
        left_out: Mapping[str, int],
        facts: Mapping[str, float],
        rng: Randomness,
    ) -> Released:
        """Alg. 3 in each cluster: a random member leads, others in random order.

        Every set is shuffled uniformly, so a triple may stay.
        """
        used = np.zeros(original.n_samples, dtype=np.bool_)
        owner_after = np.full(original.n_samples, -1, dtype=np.int64)  # whose triple it is now, -1 = removed
        lines = Lines(original.offsets, original.t, original.x, original.y)
        time_s, space_m = float(self.time_threshold_s), float(self.space_threshold_m)
        sets_of: list[Integers] = []
        for cluster in clusters:
            members = cluster[rng.permutation(len(cluster))]
            rows = np.empty((int(original.lengths[members[0]]), len(members)), dtype=np.int64)
            n = form_swap_sets(lines, members, time_s, space_m, used, rows)
            rows = rows[:n]
            if self.publish_share < 1:
                rows = rows[rng.below(_STEPS, n) < self.publish_share * _STEPS]
            owner_after[rows] = members[rng.permutations(len(rows), len(members))]
            sets_of.append(rows)
        published = np.flatnonzero(owner_after >= 0)
        by_record = published[np.argsort(owner_after[published], kind="stable")]
        sizes = np.concatenate([np.full(len(rows), rows.shape[1]) for rows in sets_of])
        set_rows = np.concatenate([rows.ravel() for rows in sets_of])
        swap_set = np.full(original.n_samples, -1, dtype=np.int64)
        swap_set[set_rows] = np.repeat(np.arange(len(sizes)), sizes)
        exchange = Exchange(
            record_of=owner_after[by_record],
            time_from=by_record,
            place_from=by_record,
            swap_set=swap_set,
            set_offsets=offsets_of(sizes),
            set_rows=set_rows,
            facts=facts,
            left_out=left_out,
        )
        return publish_exchange(self, original, exchange, rng)
