"""What the check of ReachLocations finds in a run along one street: each bound met, and just missed."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from claim_check import verdict_on_claim
from shoal.model.claims import LocationPrivacy
from shoal.model.release import Linkage
from shoal.model.streets import StreetGraph
from shoal.model.trace import Trace
from shoal.runtime.arrays import read_only
from shoal.verification.points.street_paths import PathLengths, _pieces, nearest_edges
from told_points import Case, Found, Point, found_in, linked, published, raw

pytestmark = pytest.mark.kernels

# two people drive east along a street; rows 0 and 1 are the first one's, 2 and 3 the second's
DRIVES = [[(0.0, 0.0, 0.0), (100.0, 20.0, 0.0)], [(3.0, 10.0, 4.0), (103.0, 30.0, 0.0)]]
REACHED = LocationPrivacy(
    k=2, time_threshold_s=3, space_threshold_m=20, most_off_street_m=4, both_sides=False
)
ALONG = StreetGraph.straight(
    np.arange(-10.0, 60.0, 10.0), np.zeros(7), np.arange(6), np.arange(1, 7)
)  # nodes every 10 m


def driven(drives: list[list[Point]] = DRIVES, claim: Any = REACHED, **columns: Any) -> Case:
    """The first points change places, the second ones led a set each and stayed."""
    fields_of_release: dict[str, Any] = {
        "time_from": [0, 1, 2, 3],
        "place_from": [2, 1, 0, 3],
        "swap_set": [0, 1, 0, 2],
        "set_offsets": [0, 2, 4, 6],
        "set_rows": [0, 2, 1, 3, 3, 1],
    }
    numbers: dict[str, Any] = {
        name: np.array(columns.get(name, one)) for name, one in fields_of_release.items()
    }
    samples = [point for person_samples in drives for point in person_samples]
    points = [
        (samples[t][0], *samples[place][1:])
        for t, place in zip(numbers["time_from"], numbers["place_from"], strict=True)
    ]
    trace = Trace(**numbers, place_of=(), streets=ALONG)
    return raw(drives), published([points[:2], points[2:]], claim), linked(2, trace)


SHOWN = "point 1 of this record shows a place where nobody was within the time threshold"
TWICE = "the first: each holds two points of one trajectory"
LATE = "the first: each holds a point beyond the time threshold"
OTHERS = "point 1 of this record has the time of another subject"
WRONG = "of this record did not trade places with the one that led its set, or only one of the two did"
LONG = "need a path along the streets beyond the space threshold"
TWINS = [[(0.0, 0.0, 0.0), (100.0, 30.0, 0.0)], [(3.0, 10.0, 4.0), (103.0, 30.0, 0.0)]]
PASSING = [[(0.0, 0.0, 0.0), (3.0, 20.0, 0.0)], [(3.0, 10.0, 4.0), (6.0, 30.0, 0.0)]]
ROWS: dict[str, tuple[Case, list[Found]]] = {
    "sound": (driven(), []),
    "paths": (
        driven(claim=replace(REACHED, space_threshold_m=19.999)),
        [("path-too-long", None, f"2 swap sets, number 2 the first, {LONG}")],
    ),
    "short paths": (
        driven(claim=replace(REACHED, space_threshold_m=9.999)),
        [("path-too-long", None, f"3 swap sets, number 1 the first, {LONG}")],
    ),
    "both sides": (driven(claim=replace(REACHED, space_threshold_m=30, both_sides=True)), []),
    "paths of both sides": (
        driven(claim=replace(REACHED, space_threshold_m=29.999, both_sides=True)),
        [("path-too-long", None, f"1 swap sets, number 1 the first, {LONG}")],
    ),
    "off the street": (
        driven(claim=replace(REACHED, most_off_street_m=3.999)),
        [
            (
                "off-street",
                None,
                "1 point of a swap set is farther from every street than the 3.999 m claimed",
            )
        ],
    ),
    "late": (
        driven(claim=replace(REACHED, time_threshold_s=2.9)),
        [
            ("beyond-threshold", "r0", SHOWN),
            ("beyond-threshold", "r1", SHOWN),
            ("beyond-threshold", None, f"3 swap sets, number 1 {LATE}"),
        ],
    ),
    "k": (
        driven(claim=replace(REACHED, k=3)),
        [("small-swap-set", None, "3 swap sets, number 1 the first: each has fewer than k = 3 points")],
    ),
    "the same place": (
        driven(TWINS),
        [("small-swap-set", None, "2 swap sets, number 2 the first: each holds the same place twice")],
    ),
    "one person twice": (
        driven(PASSING, set_rows=[0, 2, 1, 0, 3, 1]),
        [("small-swap-set", None, f"1 swap set, number 2 {TWICE}")],
    ),
    "times of the other": (
        driven(
            [DRIVES[0], [(0.0, 10.0, 4.0), DRIVES[1][1]]], time_from=[2, 1, 0, 3], place_from=[0, 1, 2, 3]
        ),
        [("time-changed", "r0", OTHERS), ("time-changed", "r1", OTHERS)],
    ),
    "a member that stays": (
        driven(swap_set=[0, 1, 0, 1]),
        [("wrong-exchange", "r1", f"point 2 {WRONG}")],
    ),
    "a set that another led": (
        driven(set_offsets=[0, 2, 4, 7], set_rows=[0, 2, 1, 3, 3, 0, 2], swap_set=[0, 1, 2, 2]),
        [
            ("small-swap-set", None, f"1 swap set, number 3 {TWICE}"),
            ("beyond-threshold", None, f"1 swap set, number 3 {LATE}"),
            ("wrong-exchange", "r1", f"point 1 {WRONG}"),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_a_run_along_a_street_is_held_against_its_claim(name: str) -> None:
    case, expected = ROWS[name]
    assert found_in(case) == expected


def test_steps_that_are_long_along_the_street_are_counted() -> None:
    """The first record goes 10 m, the second 30."""
    for most_m, n in ((30.0, 0), (29.999, 1), (20.0, 1)):
        notes = verdict_on_claim(*driven(claim=replace(REACHED, space_threshold_m=most_m))).notes
        assert notes[0].startswith(f"{n} of 2 published steps are longer along the streets"), notes
        assert notes[1] == "too few swap sets to test whether the shuffle was fair"
        assert notes[2].startswith("compared with the exchange before of its leader, 0 points went the same")


def test_who_has_no_subject_has_no_time_of_another() -> None:
    original, release, linkage = driven()
    unlinked = Linkage(("p0",), ("r0",), linkage.trace)
    assert {kind for kind, _, _ in found_in((original, release, unlinked))} == {
        "record-without-subject",
        "lost-subjects-not-counted",
    }


# --- lengths ------------------------------------------------------------------------------------------------

# from (0, 0) north and then east, 3 m and 9; of no length; back from the east, said to be 5 m long
BENT = StreetGraph(
    x=np.array([0.0, 9.0]),
    y=np.array([0.0, 3.0]),
    u=np.array([0, 1, 1]),
    v=np.array([1, 1, 0]),
    length_m=np.array([np.nan, np.nan, 5.0]),
    shape_offsets=np.array([0, 3, 6, 8]),
    shape_x=np.array([0.0, 0.0, 9.0, 9.0, 9.0, 9.0, 9.0, 0.0]),
    shape_y=np.array([0.0, 3.0, 3.0, 3.0, 3.0, 3.0, -3.0, -3.0]),
)


def test_pieces_say_where_on_their_edge_they_lie() -> None:
    pieces, edges = _pieces(BENT.on_plane(None))
    assert edges.tolist() == [0, 0, 2, 1, 1]
    assert pieces.tolist() == [
        [0, 0, 0, 3, 0, 0.25],
        [0, 3, 9, 3, 0.25, 1],
        [9, -3, 0, -3, 0, 1],
        [9, 3, 9, 3, 0, 0],
        [9, 3, 9, 3, 0, 0],
    ]


@pytest.mark.parametrize("most_m", [1e9, 8.0, 7.999, 0.5])
def test_paths_follow_bends_and_told_lengths_as_far_as_the_bound(most_m: float) -> None:
    """On the first street 3 m and 9 m from its beginning, on the last one a third from its eastern end."""
    x, y = (read_only(np.array(column)) for column in ((0.0, 6.0, 6.0), (3.0, 3.0, -3.0)))
    lengths = PathLengths(BENT.on_plane(None), x, y, 0.5)
    assert lengths.edge.tolist() == [0, 0, 2]
    np.testing.assert_allclose(lengths.from_u, [3, 9, 5 / 3])
    np.testing.assert_allclose(lengths.from_v, [9, 3, 10 / 3])
    start, goal = np.array([0, 0, 1, 2, 1]), np.array([1, 2, 2, 0, 1])
    path_lengths = lengths.between(start, goal, most_m)
    expected = np.array([6, 3 + 10 / 3, 3 + 5 / 3, 3 + 10 / 3, 0])
    np.testing.assert_allclose(path_lengths, expected)


def test_nodes_beyond_the_bound_are_not_reached() -> None:
    x, y = read_only(np.array([-10.0, 0.0, 50.0])), read_only(np.zeros(3))
    lengths = PathLengths(ALONG.on_plane(None), x, y, 1.0)
    start, goal = np.array([0, 0, 1]), np.array([1, 2, 2])
    for most_m, expected in ((60.0, [10, 60, 50]), (40.0, [10, 60, 50]), (39.9, [10, np.inf, np.inf])):
        assert lengths.between(start, goal, most_m).tolist() == expected


def test_the_nearest_street_is_that_of_all_pieces() -> None:
    draw = np.random.default_rng(8)
    near = 0
    for _ in range(30):
        corners = draw.integers(0, 12, (7, 4)).astype(np.float64)
        corners = corners[np.argsort(np.minimum(corners[:, 0], corners[:, 2]), kind="stable")]
        edges = draw.permutation(7)
        x, y = draw.integers(-4, 17, (2, 12)).astype(np.float64)
        pieces = np.ascontiguousarray(np.column_stack([corners, np.zeros(7), np.ones(7)]))
        widest = float(np.abs(corners[:, 2] - corners[:, 0]).max())
        edge, share = np.full(12, -1, dtype=np.int64), np.zeros(12)
        nearest_edges(read_only(x), read_only(y), 2.0, pieces, edges, widest, edge, share)
        begin, step = corners[:, :2], corners[:, 2:] - corners[:, :2]
        away = np.column_stack([x, y])[:, None] - begin
        square = (step**2).sum(axis=1)
        along = np.clip((away * step).sum(axis=2) / np.where(square > 0, square, 1), 0, 1)
        distance = ((away - along[:, :, None] * step) ** 2).sum(axis=2)
        for i in range(12):
            fits = np.flatnonzero(distance[i] <= 4.0)
            if not len(fits):
                assert edge[i] == -1
                continue
            near += 1
            messages = int(np.flatnonzero(edges == edge[i])[0])
            assert distance[i, messages] == pytest.approx(distance[i].min(), abs=1e-9)
            assert share[i] == pytest.approx(along[i, messages])
    assert near > 60
