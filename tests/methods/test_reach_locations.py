"""ReachLocations and street graphs.

Paths and places against slow ones, the rules of every set, files, and bad input.
"""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import InputError, MisuseError, NothingLeftError
from shoal.io.formats.street_files import read_streets
from shoal.kernels.streets import node_distances
from shoal.methods.swapping.reach_locations import ReachLocations, SetMembers, place_points, roads_of
from shoal.model.streets import StreetGraph
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.verification.points.street_paths import PathLengths
from small_points import BLOCK_M, drivers, town
from swap_oracles import floyd_warshall, lengths_by_relaxing

pytestmark = pytest.mark.kernels


@given(drop=st.integers(0, 25), seed=st.integers(0, 50), bound=st.sampled_from([150.0, 450.0, 1e6]))
def test_paths_between_nodes(drop: int, seed: int, bound: float) -> None:
    streets = town(drop=drop, seed=seed).on_plane(None)
    roads, found = roads_of(streets), np.empty(streets.n_nodes)
    matrix = np.full((streets.n_nodes, streets.n_nodes), np.inf)
    np.fill_diagonal(matrix, 0)
    matrix[streets.u, streets.v] = matrix[streets.v, streets.u] = streets.length_m
    expected = floyd_warshall(matrix)
    for source in range(0, streets.n_nodes, 7):
        node_distances(roads, source, bound, found)
        np.testing.assert_allclose(found, np.where(expected[source] <= bound, expected[source], np.inf))


@given(seed=st.integers(0, 50), points=st.integers(1, 8))
def test_points_lie_on_the_nearest_edge_however_it_bends(seed: int, points: int) -> None:
    draw = np.random.default_rng(seed)
    corners = draw.integers(0, 50, (5, 3, 2)).astype(np.float64)
    streets = StreetGraph(
        x=corners[:, [0, 2], 0].ravel(),
        y=corners[:, [0, 2], 1].ravel(),
        u=np.arange(0, 10, 2),
        v=np.arange(1, 10, 2),
        length_m=np.full(5, np.nan),
        shape_offsets=np.arange(0, 18, 3),
        shape_x=corners[:, :, 0].ravel(),
        shape_y=corners[:, :, 1].ravel(),
    ).on_plane(None)
    x, y = draw.integers(-20, 70, (2, points)).astype(np.float64)
    placed = place_points(streets, x, y, 1000.0)
    share = np.linspace(0, 1, 401)
    for i in range(points):
        away = []
        for bend in corners:
            on = np.concatenate([bend[j] + share[:, None] * (bend[j + 1] - bend[j]) for j in (0, 1)])
            away.append(np.hypot(on[:, 0] - x[i], on[:, 1] - y[i]).min())
        assert placed.away[i] == pytest.approx(min(away), abs=0.2)
        assert away[placed.edge[i]] == pytest.approx(min(away), abs=0.2)
        assert 0 <= placed.along[i] <= streets.length_m[placed.edge[i]] + 1e-9
    assert (place_points(streets, x + 1e6, y, 100.0).edge == -1).all()


@given(seed=st.integers(0, 30), drop=st.integers(0, 20))
def test_the_verifier_finds_the_lengths_of_paths_by_itself(seed: int, drop: int) -> None:
    streets = town(drop=drop, seed=seed).on_plane(None)
    original = drivers(streets, 4, 4, seed=seed)
    lengths = PathLengths(streets, original.x, original.y, 1.0)
    places = list(zip(lengths.edge.tolist(), lengths.from_u.tolist(), strict=True))
    edges = list(zip(streets.u.tolist(), streets.v.tolist(), streets.length_m.tolist(), strict=True))
    expected = lengths_by_relaxing(streets.n_nodes, edges, places)
    m = original.n_samples
    start, goal = (grid.ravel() for grid in np.meshgrid(np.arange(m), np.arange(m), indexing="ij"))
    np.testing.assert_allclose(lengths.between(start, goal, 1e9), expected.ravel(), atol=1e-6)


def walked(
    seed: int = 0,
    *,
    both_sides: bool = True,
    space: float = 400.0,
    k: int = 3,
    drop: int = 0,
    every_m: float | None = None,
    set_members: SetMembers = "nearest",
) -> tuple[Trajectories, shoal.ReachLocations, StreetGraph]:
    """Drivers on a town's streets; every_m: seen only at multiples of it, so that paths tie exactly."""
    streets = town(drop=drop, seed=seed)
    method = ReachLocations(
        k=k,
        streets=streets,
        space_threshold_m=space,
        both_sides=both_sides,
        most_off_street_m=1.0,
        set_members=set_members,
    )
    original = drivers(streets, 16, 14, seed=seed)
    if every_m:
        x, y = (every_m * np.round(column / every_m) for column in (original.x, original.y))
        original = Trajectories.from_rows(
            np.repeat(original.ids, original.lengths).tolist(), original.t, x, y
        )
    return original, method, streets


@pytest.mark.parametrize("both_sides", [True, False])
@pytest.mark.parametrize("every_m", [None, 25.0])
@pytest.mark.parametrize(
    ("set_members", "seed"), [*(("nearest", seed) for seed in range(4)), ("least-sum", 0)]
)
def test_every_set_obeys_the_algorithm_step_by_step(
    set_members: SetMembers, seed: int, every_m: float | None, both_sides: bool
) -> None:
    """A replay with all path lengths from the slow oracle.

    (1) to (3) of Alg. 4, and that the members are the nearest that qualify, of equally near ones the first
    rows; or the two of which no others that qualify have a lesser sum, (4).
    """
    original, method, streets = walked(seed, both_sides=both_sides, every_m=every_m, set_members=set_members)
    release, linkage = method.anonymize(original, Randomness.for_research(seed))
    trace = linkage.trace
    assert trace is not None
    plane = streets.on_plane(None)
    lengths = PathLengths(plane, original.x, original.y, 1.0)
    edges = list(zip(plane.u.tolist(), plane.v.tolist(), plane.length_m.tolist(), strict=True))
    path = lengths_by_relaxing(
        plane.n_nodes, edges, list(zip(lengths.edge.tolist(), lengths.from_u.tolist(), strict=True))
    )
    owner = np.repeat(np.arange(original.n_subjects), original.lengths)
    took = dict(zip(trace.time_from.tolist(), trace.place_from.tolist(), strict=True))
    place, waiting = list(range(original.n_samples)), set(range(original.n_samples))
    bound = method.space_threshold_m * (1 + 1e-9)
    turns = Randomness.for_research(seed).permutation(original.n_subjects).tolist()
    ties = not_nearest = 0

    def beside(row: int) -> list[int]:
        before = [r for r in range(original.offsets[owner[row]], row) if r in took or r in waiting]
        after = list(range(row + 1, original.offsets[owner[row] + 1]))
        return [*before[-1:], *after[:1]]

    def may_trade(leader: int, row: int) -> bool:
        short = path[leader, row] <= bound and all(path[place[near], row] <= bound for near in beside(leader))
        if both_sides:
            short = short and all(path[leader, place[near]] <= bound for near in beside(row))
        far = (original.x[row], original.y[row]) != (original.x[leader], original.y[leader])
        return bool(
            short
            and far
            and owner[row] != owner[leader]
            and abs(original.t[row] - original.t[leader]) <= method.time_threshold_s
        )

    for s in range(trace.n_sets):
        leader, *members = trace.set_rows[trace.set_offsets[s] : trace.set_offsets[s + 1]].tolist()
        before = turns[: turns.index(owner[leader])]
        waiting -= {row for row in range(original.n_samples) if owner[row] in before}  # swapped or removed
        waiting -= set(range(original.offsets[owner[leader]], leader))
        assert {leader, *members} <= waiting
        assert len({owner[row] for row in (leader, *members)}) == method.k
        assert len({(original.x[row], original.y[row]) for row in (leader, *members)}) == method.k
        assert all(may_trade(leader, row) for row in members)
        told_apart = [round(path[leader, row], 6) for row in waiting - {leader}]
        ties += len(told_apart) - len(set(told_apart))
        qualified = [row for row in sorted(waiting - {leader}) if may_trade(leader, row)]
        nearest: list[int] = []
        for row in sorted(waiting - {leader}, key=lambda row: (round(path[leader, row], 6), row)):
            chosen = [leader, *nearest]
            if (
                len(nearest) < method.k - 1
                and may_trade(leader, row)
                and owner[row] not in owner[chosen]
                and all((original.x[row], original.y[row]) != (original.x[c], original.y[c]) for c in chosen)
            ):
                nearest.append(row)
        if set_members == "nearest":
            assert members == nearest
        else:
            least = min(
                path[leader, a] + path[leader, b] + path[a, b]
                for a, b in combinations(qualified, 2)
                if owner[a] != owner[b] and (original.x[a], original.y[a]) != (original.x[b], original.y[b])
            )
            first, second = members
            own = path[leader, first] + path[leader, second] + path[first, second]
            assert own == pytest.approx(least, abs=1e-6)
            assert path[leader, first] <= path[leader, second] + 1e-9
            not_nearest += members != nearest
        waiting -= {leader, took[leader]}
        place[leader], place[took[leader]] = took[leader], leader
    assert trace.n_sets > 5
    assert release.n_samples == len(took)
    assert (not_nearest > 0) == (set_members == "least-sum")
    assert not every_m or ties > 100, "the data has too few ties to tell anything"


@pytest.mark.parametrize("seed", range(3))
def test_what_is_published_holds_and_times_stay(seed: int) -> None:
    original, method, _ = walked(seed, drop=8 * seed)
    release, linkage = method.anonymize(original, Randomness.from_system())
    verdict = shoal.verify(original, release, linkage)
    assert verdict.holds, verdict.findings
    assert any("published steps are longer" in note for note in verdict.notes)
    own = dict(zip(linkage.trajectory_ids, linkage.uids, strict=True))
    for r, name in enumerate(release.trajectory_ids):
        times = original.samples_of(original.ids.index(own[name]))[0]
        assert set(release.record(r).t.tolist()) <= set(times.tolist())


def test_points_off_the_streets_are_left_out_and_counted() -> None:
    original, method, _ = walked()
    ids = [*np.repeat(np.array(original.ids), original.lengths).tolist(), "boat", "boat"]
    with_boat = Trajectories.from_rows(
        ids, [*original.t, 5, 9], [*original.x, -5000, -5000], [*original.y, 0, 1]
    )
    release, linkage = method.anonymize(with_boat, Randomness.from_system())
    assert release.losses.subjects_by_reason["every point too far from the streets"] == 1
    assert linkage.trace is not None
    assert linkage.trace.facts["points_off_streets"] == 2
    assert shoal.verify(with_boat, release, linkage).holds


def test_towns_that_no_street_joins_do_not_trade() -> None:
    one = town().on_plane(None)
    far = 100_000.0
    both = StreetGraph.straight(
        np.concatenate([one.x, one.x + far]),
        np.concatenate([one.y, one.y]),
        np.concatenate([one.u, one.u + one.n_nodes]),
        np.concatenate([one.v, one.v + one.n_nodes]),
    )
    here, there = drivers(one, 10, 10, seed=1), drivers(one, 10, 10, seed=2)
    ids = [
        *(f"h{i}" for i in np.repeat(here.ids, here.lengths)),
        *(f"t{i}" for i in np.repeat(there.ids, there.lengths)),
    ]
    original = Trajectories.from_rows(
        ids, [*here.t, *there.t], [*here.x, *(there.x + far)], [*here.y, *there.y]
    )
    release, linkage = ReachLocations(k=3, streets=both, space_threshold_m=1e6).anonymize(
        original, Randomness.from_system()
    )
    trace = linkage.trace
    assert trace is not None
    assert ((original.x[trace.time_from] > far / 2) == (original.x[trace.place_from] > far / 2)).all()
    assert trace.facts["components_of_streets"] == 2
    assert shoal.verify(original, release, linkage).holds


def test_bad_input_is_refused_in_words() -> None:
    original, method, streets = walked()
    with pytest.raises(MisuseError, match="needs streets: a graph of nodes"):
        replace(method, streets=None).anonymize(original, Randomness.from_system())
    with pytest.raises(MisuseError, match="needs at least 99 people"):
        replace(method, k=99).anonymize(original, Randomness.from_system())
    with pytest.raises(NothingLeftError, match="relax the thresholds"):
        replace(method, space_threshold_m=1e-3).anonymize(original, Randomness.from_system())
    with pytest.raises(MisuseError, match="choose k of 3 or less, or set_members = 'nearest'"):
        replace(method, set_members="least-sum", k=4)
    with pytest.raises(MisuseError, match="space threshold"):
        replace(method, space_threshold_m=0)
    with pytest.raises(InputError, match="negative or endless length, edge 1 of"):
        StreetGraph.straight(streets.x, streets.y, streets.u, streets.v, np.full(streets.n_edges, -1.0))
    with pytest.raises(InputError, match="say the trajectories' system"):
        replace(method, streets=replace(streets, crs="EPSG:4326")).anonymize(
            original, Randomness.from_system()
        )


def tables(streets: StreetGraph) -> tuple[pa.Table, pa.Table]:
    nodes = pa.table({"node_id": np.arange(streets.n_nodes) + 100, "x": streets.x, "y": streets.y})
    return nodes, pa.table(
        {"u": streets.u + 100, "v": streets.v + 100, "length": streets.on_plane(None).length_m}
    )


def same(found: StreetGraph, streets: StreetGraph) -> None:
    for name in ("x", "y", "u", "v", "shape_x", "shape_y"):
        np.testing.assert_allclose(getattr(found.on_plane(found.crs), name), getattr(streets, name))
    np.testing.assert_allclose(found.on_plane(found.crs).length_m, BLOCK_M)


def test_streets_from_parquet_and_csv(tmp_path: Path) -> None:
    streets = town()
    nodes, edges = tables(streets)
    pq.write_table(nodes, tmp_path / "n.parquet")
    pq.write_table(edges, tmp_path / "e.parquet")
    pa_csv.write_csv(nodes, tmp_path / "n.csv")
    pa_csv.write_csv(edges.drop_columns(["length"]), tmp_path / "e.csv")
    same(read_streets(tmp_path / "n.parquet", tmp_path / "e.parquet"), streets)
    same(read_streets(str(tmp_path / "n.csv"), str(tmp_path / "e.csv")), streets)
    same(read_streets(nodes, edges), streets)


GRAPHML = """<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="graph" attr.name="crs" attr.type="string"/>
<key id="d1" for="node" attr.name="y" attr.type="string"/>
<key id="d2" for="node" attr.name="x" attr.type="string"/>
<key id="d3" for="edge" attr.name="length" attr.type="string"/>
<key id="d4" for="edge" attr.name="geometry" attr.type="string"/>
<graph edgedefault="directed"><data key="d0">epsg:4326</data>
<node id="7"><data key="d1">37.80</data><data key="d2">-122.40</data></node>
<node id="8"><data key="d1">37.81</data><data key="d2">-122.40</data></node>
<edge source="7" target="8" id="0"><data key="d3">1110.5</data>
<data key="d4">LINESTRING (-122.4 37.8, -122.401 37.805, -122.4 37.81)</data></edge>
<edge source="8" target="7" id="0"><data key="d3">1200</data></edge></graph></graphml>"""


def test_streets_from_graphml_as_osmnx_writes_it(tmp_path: Path) -> None:
    (tmp_path / "town.graphml").write_text(GRAPHML)
    found = read_streets(tmp_path / "town.graphml")
    assert (found.n_nodes, found.n_edges, found.crs) == (2, 2, "epsg:4326")
    assert found.length_m.tolist() == [1110.5, 1200]
    assert np.diff(found.shape_offsets).tolist() == [3, 2]
    assert found.shape_x[1] == -122.401
    plane = found.on_plane("+proj=laea +lat_0=37.8 +lon_0=-122.4 +datum=WGS84 +units=m +no_defs")
    assert plane.y[1] - plane.y[0] == pytest.approx(1110, abs=3)
    (tmp_path / "cut.graphml").write_text(GRAPHML[:-40])
    with pytest.raises(InputError, match="cut off"):
        read_streets(tmp_path / "cut.graphml")
    (tmp_path / "bomb.graphml").write_text("<!DOCTYPE x [<!ENTITY a 'b'>]>" + GRAPHML)
    with pytest.raises(InputError, match="XML entities"):
        read_streets(tmp_path / "bomb.graphml")


def test_streets_from_frames_as_osmnx_gives_them() -> None:
    geopandas = pytest.importorskip("geopandas")
    import shapely

    nodes = geopandas.GeoDataFrame(
        {"osmid": [7, 8], "x": [-122.4, -122.4], "y": [37.8, 37.81]},
        geometry=shapely.points([-122.4, -122.4], [37.8, 37.81]),
        crs="EPSG:4326",
    ).set_index("osmid")
    line = shapely.linestrings([[-122.4, 37.81], [-122.401, 37.805], [-122.4, 37.8]])
    edges = geopandas.GeoDataFrame(
        {"u": [7], "v": [8], "key": [0], "length": [1110.5]}, geometry=[line], crs="EPSG:4326"
    ).set_index(["u", "v", "key"])
    found = read_streets(nodes, edges)
    assert found.length_m.tolist() == [1110.5]
    assert found.shape_y.tolist() == [37.8, 37.805, 37.81]  # from u, although it was drawn the other way
    assert found.crs is not None
    assert found.on_plane("EPSG:32610").y[0] == pytest.approx(4_183_900, abs=1000)


def with_shapes(edges: pa.Table, shape: str | bytes) -> pa.Table:
    """Edges that all have one shape."""
    others = edges.select([name for name in edges.column_names if not name.startswith("geom")])
    return others.append_column("geometry", pa.array([shape] * len(edges)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda n, e: (n.drop_columns(["node_id"]), e), "no column node_id or osmid or id"),
        (lambda n, e: (n, e.drop_columns(["v"])), "no column v"),
        (lambda n, e: (n.slice(1), e), "name a node that the street graph does not hold"),
        (lambda n, e: (pa.concat_tables([n, n]), e), "an id that another one has"),
        (lambda n, e: (n, e.slice(0, 0)), "at least one of each"),
        (lambda n, e: (n, with_shapes(e, "LINESTRING (2.3, 48.8)")), "a corner without two coordinates"),
        (lambda n, e: (n, with_shapes(e, b"\x01\x02\x00\x00\x00\x09\x00\x00\x00")), "shape is not whole"),
        (lambda n, e: (n, with_shapes(e, b"")), "shape is not whole"),
    ],
)
def test_graphs_with_faults_are_refused(change: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_streets(*change(*tables(town())))  # type: ignore[operator]


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_streets(tmp_path / "n.parquet", tmp_path / "e.parquet")
    with pytest.raises(InputError, match=r"one \.graphml"):
        read_streets(tmp_path / "n.parquet")
