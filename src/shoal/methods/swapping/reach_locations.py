"""ReachLocations: places change hands along a street graph, times stay (swap-reach-locations.txt, Alg. 4.

Semantics 3.6).
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

import numpy as np

from shoal.errors import MisuseError
from shoal.kernels.trading import REMOVED, SWAPPED, Cache, Locations, Rules, State, Town, trade_places
from shoal.methods.points_assembly import assemble_points
from shoal.methods.swapping.street_places import place_points, roads_of
from shoal.methods.swapping.swap_locations import people_at, points_of, with_reasons
from shoal.model.claims import LocationPrivacy
from shoal.model.release import Linkage, PointRelease
from shoal.model.streets import StreetGraph
from shoal.model.trace import Trace
from shoal.model.trajectories import Trajectories, require_people
from shoal.runtime.arrays import Integers
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run

OFF_STREETS: Final = "every point too far from the streets"
_CACHE_BYTES: Final = 512 << 20
_FEWEST_ROWS: Final = 16  # a search needs the rows of six nodes at once
_PART: Final = 20


@dataclass(frozen=True, kw_only=True)
class ReachLocations:
    """Location k-diversity in the sense of Def. 9.

    Every published place is a true place, every time a true time of its record's subject.

    k: points in a swap set. time_threshold_s: R^t. space_threshold_m: R^s, the longest path along the streets
    between points of a set and from those to the neighbors of who takes them. both_sides: also for the other
    one's neighbors, not only for the leader's, which is all that the paper checks. most_off_street_m: points
    farther from every street are left out and counted. streets: the graph.
    """

    takes_points: ClassVar[bool] = True
    k: int = 2
    time_threshold_s: float = 100.0
    space_threshold_m: float = 5_000.0
    both_sides: bool = True
    most_off_street_m: float = 100.0
    streets: StreetGraph | None = None

    def __post_init__(self) -> None:
        self.claim()
        if not (np.isfinite(self.most_off_street_m) and self.most_off_street_m > 0):
            raise MisuseError(
                f"the largest distance from a street {self.most_off_street_m} m must be finite and greater "
                "than 0, for example 100 m"
            )

    def claim(self) -> LocationPrivacy:
        """Location 1/k-privacy."""
        return LocationPrivacy(
            k=self.k,
            time_threshold_s=self.time_threshold_s,
            space_threshold_m=self.space_threshold_m,
            both_sides=self.both_sides,
        )

    def parameters(self) -> dict[str, Any]:
        """All parameters, as a manifest holds them; of the streets only how many there are."""
        names = ("k", "time_threshold_s", "space_threshold_m", "both_sides", "most_off_street_m")
        return {
            **{name: getattr(self, name) for name in names},
            "streets": None if self.streets is None else self.streets.summary(),
        }

    def anonymize(
        self, original: Trajectories, rng: Randomness, run: Run | None = None
    ) -> tuple[PointRelease, Linkage]:
        """The release and, with its trace, who became which record: the trajectory whose times it keeps.

        Raises MisuseError without streets or with fewer than k trajectories, NothingLeftError when nothing is
        swapped.
        """
        original.require_points_as_given()
        if self.streets is None:
            raise MisuseError(
                "reach-locations needs a street graph; give --streets-nodes and --streets-edges (or one "
                ".graphml as nodes)"
            )
        require_people(original.n_subjects, self.k)
        streets = self.streets.on_plane(original.crs)
        placed = place_points(streets, original.x, original.y, self.most_off_street_m)
        owner = np.repeat(np.arange(original.n_subjects), original.lengths)
        on_street = placed.edge >= 0
        state = _nothing_swapped(placed.edge, streets.n_edges)
        leaders, members = self._trade(
            original,
            streets,
            Locations(original.offsets, owner, original.t, original.x, original.y, placed.edge, placed.along),
            state,
            rng,
            run or Run(),
        )
        published = np.flatnonzero(state.status == SWAPPED)
        subjects, counts = np.unique(owner[published], return_counts=True)
        release, linkage, rows = assemble_points(
            original,
            subjects,
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            points_of(original, published, state.place[published]),
            claim=self.claim(),
            method="reach-locations",
            parameters=self.parameters(),
            stands_for=published,
            rng=rng,
        )
        set_of = np.full(original.n_samples, -1, dtype=np.int64)
        set_of[leaders] = np.arange(len(leaders))
        partners = state.place[leaders]
        set_of[partners] = np.arange(len(leaders))
        off = int(np.count_nonzero(np.bincount(owner[on_street], minlength=original.n_subjects) == 0))
        away = placed.away[on_street]
        facts = {
            "points_off_streets": int(np.count_nonzero(~on_street)),
            "median_off_street_m": float(np.median(away)) if len(away) else 0.0,
            "largest_off_street_m": float(away.max(initial=0.0)),
            "components_of_streets": streets.summary()["components"],
        }
        times = published[rows]
        trace = Trace(
            time_from=times,
            place_from=state.place[times],
            swap_set=set_of[times],
            set_offsets=self.k * np.arange(len(leaders) + 1, dtype=np.int64),
            set_rows=np.column_stack([leaders, members]).ravel(),
            place_of=people_at(original, state.place[times]),
            facts=facts,
            streets=self.streets,
        )
        return with_reasons(release, {OFF_STREETS: off}), replace(linkage, trace=trace)

    def _trade(
        self,
        original: Trajectories,
        streets: StreetGraph,
        locations: Locations,
        state: State,
        rng: Randomness,
        run: Run,
    ) -> tuple[Integers, Integers]:
        """Alg. 4 over all trajectories in random order: leaders [s] and members [s, k - 1] of the sets.

        ``state`` holds the exchanges.
        """
        m, n = original.n_samples, streets.n_nodes
        slots = int(np.clip(_CACHE_BYTES // (8 * n), _FEWEST_ROWS, max(n, _FEWEST_ROWS)))
        town = Town(
            roads=roads_of(streets),
            cache=Cache(
                rows=np.empty((slots, n)),
                slot_of=np.full(n, -1, dtype=np.int64),
                node_in=np.full(slots, -1, dtype=np.int64),
                oldest=np.zeros(1, dtype=np.int64),
            ),
            locations=locations,
            state=state,
            nearest=np.full(n, np.inf),
            tried=np.full(m, -1, dtype=np.int64),
        )
        rules = Rules(self.time_threshold_s, self.space_threshold_m, self.both_sides)
        order, draws = rng.permutation(original.n_subjects), rng.below(self.k, m)
        leaders, members = np.empty(m, dtype=np.int64), np.empty((m + 1, self.k - 1), dtype=np.int64)
        n_sets, label = 0, "trading places"
        for begin in range(0, len(order), _PART):
            run.progress(label, begin, len(order))
            part = order[begin : begin + _PART]
            n_sets = trade_places(town, rules, part, draws, n_sets, leaders, members)
        run.progress(label, len(order), len(order))
        return leaders[:n_sets].copy(), members[:n_sets].copy()


def _nothing_swapped(edge: Integers, n_edges: int) -> State:
    """All samples on a street wait on their edge; the others are removed before anything begins."""
    m = len(edge)
    status = np.where(edge < 0, REMOVED, 0).astype(np.int64)
    waiting = np.argsort(np.where(edge < 0, n_edges, edge), kind="stable")
    counts = np.bincount(edge[edge >= 0], minlength=n_edges)
    waiting_at = np.empty(m, dtype=np.int64)
    waiting_at[waiting] = np.arange(m)
    return State(
        status,
        np.arange(m),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        counts.astype(np.int64),
        waiting,
        waiting_at,
    )
