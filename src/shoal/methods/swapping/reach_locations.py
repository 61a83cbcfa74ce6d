"""ReachLocations: exchange places on streets, keep times."""

from dataclasses import dataclass
from typing import ClassVar, Final, Literal, get_args

import numpy as np

from shoal.errors import MisuseError
from shoal.kernels.place_swaps import (
    REMOVED,
    SWAPPED,
    Cache,
    Locations,
    SwapRules,
    SwapState,
    Town,
    swap_places,
)
from shoal.kernels.streets import NearestPlaces, Pieces, Raster, Roads, list_pieces, nearest_places
from shoal.methods.method import About, DeclaredMethod, permutation
from shoal.methods.parameters import k_parameter, parameter
from shoal.methods.swapping.exchange import Exchange, publish_exchange
from shoal.model.argument_checks import require_method_inputs, require_people
from shoal.model.claims import LocationPrivacy
from shoal.model.omission import OFF_STREETS
from shoal.model.release import Released
from shoal.model.streets import StreetGraph
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers, offsets_of
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run

_CACHE_BYTES: Final = 512 << 20
_FEWEST_ROWS: Final = 16  # a search needs the rows of eight nodes at once
_PART: Final = 20
_PIECES_PER_CELL: Final = 2.0
_MOST_LEAST_SUM: Final = 3
SetMembers = Literal["nearest", "least-sum"]


@dataclass(frozen=True, kw_only=True)
class ReachLocations(DeclaredMethod):
    """Location k-diversity in the sense of Def. 9, by trading places along a street graph.

    Every published place is a true place, and every time is a true time of the record's subject.

    Parameters
    ----------
    k
        Points in a swap set.
    time_threshold_s
        Largest time difference in seconds within a set (R^t).
    space_threshold_m
        Longest path along the streets, in meters, between points of a set, and to the neighboring points of
        the person who takes them (R^s).
    both_sides
        Whether a new place must be within ``space_threshold_m`` of the neighboring points of both who trade.
        False: only of the leader's, which is all that the paper checks.
    set_members
        Members of the leader's set: the "nearest" by path, or those with the "least-sum" of paths within the
        set, which condition (4) of Alg. 4 asks for; that searches all pairs, for k of 2 and 3.
    most_off_street_m
        Points farther than this from every street are left out and counted.
    streets
        The street graph. Required to anonymize.

    References
    ----------
    Domingo-Ferrer and Trujillo-Rasua 2012, Def. 8 and 9, Alg. 4.
    """

    about: ClassVar[About] = About(
        name="reach-locations",
        title="ReachLocations",
        techniques=(permutation("places are exchanged between people who could reach them"),),
        claim=LocationPrivacy,
        publishes="points",
        summary="exchanges true places within reach by street.",
        page="reach-locations",
        as_published={"both_sides": False},
    )

    k: int = k_parameter(meaning="how many people's points a place is exchanged among")
    time_threshold_s: float = parameter(
        default=100.0,
        unit="s",
        help="How far apart in time swapped points may be.",
        meaning="how far in time a point may be from the one that leads its swap set",
    )
    space_threshold_m: float = parameter(
        default=5_000.0,
        unit="m",
        help="How far apart swapped points may be along the streets.",
        meaning="the longest path along the streets between places that are exchanged, and from a new place "
        "to its neighboring points",
    )
    both_sides: bool = parameter(
        default=True,
        option="reach",
        spelled={"both": True, "leader": False},
        help="Whose neighboring points must stay within reach: of both who trade places, or of the leading "
        "one.",
        meaning="whether both who trade places stay within reach of their neighboring points, or the leading "
        "one alone",
    )
    set_members: SetMembers = parameter(
        default="nearest",
        choices=get_args(SetMembers),
        help="Which points make a set with the leading one: the nearest, or those with the least sum of "
        "paths within the set (k of 2 and 3).",
        meaning="whether places are exchanged among the nearest points, or among those nearest to each other",
    )
    most_off_street_m: float = parameter(
        default=100.0,
        unit="m",
        help="Points farther from every street are left out.",
        meaning="points farther from every street were left out",
    )
    streets: StreetGraph | None = parameter(
        default=None,
        street_graph=True,
        help="Street graph.",
        meaning="the street graph that paths were measured on",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.set_members == "least-sum" and self.k > _MOST_LEAST_SUM:
            raise MisuseError(
                f"set_members = 'least-sum' tries all pairs of points, and k = {self.k} needs larger sets; "
                f"choose k of {_MOST_LEAST_SUM} or less, or set_members = 'nearest'"
            )

    def claim(self) -> LocationPrivacy:
        """Location 1/k-privacy."""
        return LocationPrivacy(
            k=self.k,
            time_threshold_s=self.time_threshold_s,
            space_threshold_m=self.space_threshold_m,
            most_off_street_m=self.most_off_street_m,
            both_sides=self.both_sides,
        )

    def anonymize(self, original: Trajectories, rng: Randomness, run: Run | None = None) -> Released:
        """The release and its linkage with a trace.

        MisuseError without streets, NothingLeftError when nothing is swapped.
        """
        require_method_inputs(original, rng)
        original.require_points_as_given()
        if self.streets is None:
            raise MisuseError(
                "reach-locations needs streets: a graph of --streets-nodes and --streets-edges (or one "
                ".graphml as nodes), as shoal.read_streets reads it"
            )
        require_people(original.n_subjects, self.k)
        streets = self.streets.on_plane(original.crs)
        placed = place_points(streets, original.x, original.y, self.most_off_street_m)
        owner = np.repeat(np.arange(original.n_subjects), original.lengths)
        on_street = placed.edge >= 0
        state = _initial_state(placed.edge, streets.n_edges)
        leaders, members = self._trade(
            original,
            streets,
            Locations(original.offsets, owner, original.t, original.x, original.y, placed.edge, placed.along),
            state,
            rng,
            run or Run(),
        )
        published = np.flatnonzero(state.status == SWAPPED)
        swap_set = np.full(original.n_samples, -1, dtype=np.int64)
        swap_set[leaders] = np.arange(len(leaders))
        swap_set[state.place[leaders]] = np.arange(len(leaders))
        off = int(np.count_nonzero(np.bincount(owner[on_street], minlength=original.n_subjects) == 0))
        away = placed.away[on_street]
        facts = {
            "points_off_streets": int(np.count_nonzero(~on_street)),
            "median_off_street_m": float(np.median(away)) if len(away) else 0.0,
            "largest_off_street_m": float(away.max(initial=0.0)),
            "components_of_streets": streets.summary()["components"],
        }
        exchange = Exchange(
            record_of=owner[published],
            time_from=published,
            place_from=state.place[published],
            swap_set=swap_set,
            set_offsets=self.k * np.arange(len(leaders) + 1, dtype=np.int64),
            set_rows=np.column_stack([leaders, members]).ravel(),
            facts=facts,
            left_out={OFF_STREETS: off},
            streets=self.streets,
        )
        return publish_exchange(self, original, exchange, rng)

    def _trade(
        self,
        original: Trajectories,
        streets: StreetGraph,
        locations: Locations,
        state: SwapState,
        rng: Randomness,
        run: Run,
    ) -> tuple[Integers, Integers]:
        """Alg. 4 in random order: leaders [s] and members [s, k - 1]."""
        # ``state`` receives the exchanges.
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
        bound_m = float(self.space_threshold_m)
        pairs = self.set_members == "least-sum" and self.k == _MOST_LEAST_SUM  # at k = 2 both are the same
        rules = SwapRules(
            time_threshold_s=float(self.time_threshold_s),
            bound_m=bound_m,
            both_sides=self.both_sides,
            least_sum=pairs,
            rows_m=2 * bound_m if pairs else bound_m,
        )
        order, draws = rng.permutation(original.n_subjects), rng.below(self.k, m)
        leaders, members = np.empty(m, dtype=np.int64), np.empty((m + 1, self.k - 1), dtype=np.int64)
        n_sets, label = 0, "trading places"
        for begin in range(0, len(order), _PART):
            run.progress(label, begin, len(order))
            part = order[begin : begin + _PART]
            n_sets = swap_places(town, rules, part, draws, n_sets, leaders, members)
        run.progress(label, len(order), len(order))
        return leaders[:n_sets].copy(), members[:n_sets].copy()


def _initial_state(edge: Integers, n_edges: int) -> SwapState:
    m = len(edge)
    status = np.where(edge < 0, REMOVED, 0).astype(np.int64)
    waiting = np.argsort(np.where(edge < 0, n_edges, edge), kind="stable")
    counts = np.bincount(edge[edge >= 0], minlength=n_edges)
    waiting_at = np.empty(m, dtype=np.int64)
    waiting_at[waiting] = np.arange(m)
    edge_offsets, waiting_count = offsets_of(counts), counts.astype(np.int64)
    return SwapState(status, np.arange(m), edge_offsets, waiting_count, waiting, waiting_at)


@dataclass(frozen=True, eq=False, kw_only=True)
class PointsOnStreets:
    """Positions of points on the graph."""

    edge: Integers  # [m], -1 = farther from every edge than allowed
    along: Floats  # [m], meters from its end u
    away: Floats  # [m], meters off it


def place_points(streets: StreetGraph, x: Floats, y: Floats, most_m: float) -> PointsOnStreets:
    """The nearest point on an edge for each. streets: on the points' plane."""
    at = streets.pieces
    edge = np.searchsorted(streets.shape_offsets, at, side="right") - 1
    x0, y0 = streets.shape_x[at], streets.shape_y[at]
    x1, y1 = streets.shape_x[at + 1], streets.shape_y[at + 1]
    steps = np.hypot(x1 - x0, y1 - y0)
    ends = np.cumsum(steps)
    drawn = np.bincount(edge, weights=steps, minlength=streets.n_edges)
    before = np.concatenate([[0.0], np.cumsum(drawn)])[edge]
    whole = np.where(drawn[edge] > 0, drawn[edge], 1.0)
    from_share, to_share = (np.clip((at_end - before) / whole, 0, 1) for at_end in (ends - steps, ends))
    pieces = Pieces(edge, x0, y0, x1, y1, from_share, to_share)
    x_min, y_min = min(x0.min(), x1.min()), min(y0.min(), y1.min())
    wide, tall = max(x0.max(), x1.max()) - x_min, max(y0.max(), y1.max()) - y_min
    cell_m = max(np.sqrt(max(wide * tall, 1.0) * _PIECES_PER_CELL / len(at)), max(wide, tall) / 2000, 1e-6)
    across, down = int(wide // cell_m) + 1, int(tall // cell_m) + 1
    offsets = np.zeros(across * down + 1, dtype=np.int64)
    raster = Raster(x_min, y_min, cell_m, across, offsets, listed=np.empty(0, dtype=np.int64))
    list_pieces(pieces, raster)
    raster = raster._replace(listed=np.empty(int(offsets[-1]), dtype=np.int64))
    list_pieces(pieces, raster)
    nearest = NearestPlaces(np.full(len(x), -1, dtype=np.int64), np.zeros(len(x)), np.full(len(x), np.inf))
    nearest_places(x, y, most_m, pieces, raster, nearest)
    return PointsOnStreets(
        edge=nearest.edge, along=nearest.share * streets.length_m[nearest.edge], away=nearest.distance
    )


def roads_of(streets: StreetGraph) -> Roads:
    """The graph for kernels."""
    ends = np.concatenate([streets.u, streets.v])
    order = np.argsort(ends, kind="stable")
    edges = np.tile(np.arange(streets.n_edges), 2)
    offsets = offsets_of(np.bincount(ends, minlength=streets.n_nodes))
    u, v = np.ascontiguousarray(streets.u), np.ascontiguousarray(streets.v)
    across = np.concatenate([streets.v, streets.u])[order]
    return Roads(u, v, streets.length_m, offsets, edges[order], across)
