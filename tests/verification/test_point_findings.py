"""What the checks of points find in releases written out by hand: each bound met, and just missed."""

from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

from claim_check import verdict_on_claim
from shoal.errors import MisuseError
from shoal.io import read
from shoal.methods.co_location.nwa import Nwa
from shoal.model.claims import Claim, KDeltaAnonymity, LocationPrivacy, TrajectoryPrivacy
from shoal.model.release import Linkage, Losses, Points
from shoal.model.trace import Trace
from shoal.runtime.arrays import read_only
from shoal.runtime.randomness import Randomness
from shoal.synthetic import synthesize
from shoal.verification.points.co_location import (
    NOT_K_ANONYMITY,
    _has_complete_set,
    _outside_sets,
    co_located_records,
)
from shoal.verification.points.correlation import _compare_by_lag, _p_values
from shoal.verification.points.draws import Draws, read_choices, read_draws, read_permutations
from shoal.verification.points.records import malformed_points, plane_mismatch
from shoal.verification.points.shuffle import judge_places
from shoal.verification.points.street_paths import PathLengths, nearest_edges
from shoal.verification.points.tails import chi_squared_tail
from small_points import town
from swap_oracles import floyd_warshall
from told_points import K_DELTA, PAIR, Case, Found, Point, found_in, linked, published, raw
from told_releases import people

pytestmark = pytest.mark.kernels


# --- records of points --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "ascends", "repeats"),
    [
        ((0, 0, 0), (1, 0, 0), True, True),
        ((0, 5, 5), (1, 0, 0), True, True),
        ((1, 0, 0), (0, 1, 1), False, False),
        ((0, 0, 0), (0, 1, 0), True, True),
        ((0, 0, 5), (0, 1, 0), True, True),
        ((0, 1, 0), (0, 0, 5), False, False),
        ((0, 0, 0), (0, 0, 1), True, True),
        ((0, 0, 1), (0, 0, 0), False, False),
        ((0, 0, 0), (0, 0, 0), False, True),
    ],
)
def test_points_ascend_by_time_x_and_y(first: Point, second: Point, ascends: bool, repeats: bool) -> None:
    later = (9.0, 9.0, 9.0)
    release = published([[], [later], [], [first, second], [later], []])
    empty = [("empty-record", name) for name in ("r0", "r2", "r5")]
    for allowed, fine in ((False, ascends), (True, repeats)):
        findings = [
            (finding.kind, finding.trajectory_id) for finding in malformed_points(release, repeats=allowed)
        ]
        assert findings == empty + [("malformed-point", "r3")] * (not fine)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_point_is_three_numbers(bad: float, column: int) -> None:
    point = [0.0, 0.0, 0.0]
    point[column] = bad
    findings = list(malformed_points(published([[(5, 0, 0), (1, 0, 0)], [(point[0], point[1], point[2])]])))
    assert [(finding.message, finding.trajectory_id) for finding in findings] == [
        ("a published coordinate or time is no finite number", None)
    ]


@pytest.mark.parametrize(
    ("crs", "degrees", "moved", "words"),
    [
        (None, True, False, ""),
        (None, False, True, ""),
        (None, False, False, "'None' with degrees, the release has this plane"),
        (None, True, True, "'None', the release has this plane with degrees"),
        ("EPSG:3035", True, False, "'None' with degrees, the release has another plane with degrees"),
        ("EPSG:3035", False, True, "'None', the release has another plane"),
    ],
)
def test_points_lie_in_the_plane_of_the_raw_data(
    crs: str | None, degrees: bool, moved: bool, words: str
) -> None:
    one = np.zeros(1)
    original = replace(raw([[(0, 0, 0)]]), lat=one, lon=one)
    points = Points(t=one, x=one, y=one, **({"lat": one, "lon": one} if degrees else {}))
    findings = plane_mismatch(original, published([[(0, 0, 0)]], payload=points, crs=crs), moved=moved)
    assert [finding.message for finding in findings] == (
        [f"expected points in the plane {words}"] if words else []
    )


def test_points_are_held_against_samples_as_given() -> None:
    with pytest.raises(MisuseError):
        plane_mismatch(people({"ann": [(0, 0, 0)]}), published([[(0, 0, 0)]]))


# --- co-location --------------------------------------------------------------------------------------------


def test_who_is_in_no_set_of_k_agrees_with_every_set() -> None:
    draw = np.random.default_rng(1)
    outside = 0
    for _ in range(60):
        n, k, columns = int(draw.integers(2, 8)), int(draw.integers(2, 5)), int(draw.integers(1, 3))
        x, y = draw.integers(0, 5, (2, n, columns)).astype(np.float64)
        x = x[np.argsort(x[:, 0], kind="stable")]
        delta_m = float(draw.integers(1, 4))
        near = np.hypot(x[:, None] - x, y[:, None] - y).max(axis=2) <= delta_m
        sets = [some for some in combinations(range(n), k) if near[np.ix_(some, some)].all()]
        expected = sorted(set(range(n)) - {row for some in sets for row in some})
        assert list(_outside_sets(x, y, k, delta_m, [10**6])) == [(row, True) for row in expected]
        outside += len(expected)
    assert outside > 60


@pytest.mark.parametrize(("room", "decided"), [(16, True), (15, False), (0, False), (-1, False)])
def test_no_more_pairs_are_looked_at_than_there_is_room_for(room: int, decided: bool) -> None:
    """Two on either side, and no three of them near each other: the four of them are 16 pairs."""
    x, y = np.array([[-2.0], [-1.5], [0.0], [1.5], [2.0]]), np.zeros((5, 1))
    remaining = [room]
    answer = _has_complete_set(x, y, np.array([0, 1, 3, 4]), 3, 2.0, remaining)
    assert answer is (False if decided else None)
    assert remaining == [room - 16 if room >= 0 else room]
    messages = dict(_outside_sets(x, y, 4, 2.0, [room]))
    assert messages[2] is decided
    assert _has_complete_set(x, y, np.array([0, 1, 3, 4]), 2, 2.0, [100]) is True


def test_as_many_near_as_are_needed_are_decided_without_trying_sets() -> None:
    """The two near the middle are not near each other, and there are no others."""
    x, y = np.array([[-1.0], [0.0], [1.0]]), np.zeros((3, 1))
    assert list(_outside_sets(x, y, 3, 1.0, [-1])) == [(0, True), (1, True), (2, True)]
    assert list(_outside_sets(x, y, 2, 1.0, [-1])) == []


def test_exactly_delta_is_near_and_the_first_lonely_point_is_named() -> None:
    case = raw(PAIR), published(PAIR), linked(2)
    assert found_in(case) == []
    assert verdict_on_claim(*case).notes[0] == NOT_K_ANONYMITY
    words = "at point 2 of 2, 0 others are near; expected 1 within 9 m"
    other = [[PAIR[0][0], PAIR[0][1]], [(0.0, 9.0, 0.0), PAIR[1][1]]]
    nearer = KDeltaAnonymity(k=2, delta_m=9)
    findings = found_in((raw(other), published(other, nearer), linked(2)))
    assert findings == [("alone-at-a-time", name, words) for name in ("r0", "r1")]
    equal = [PAIR[0], PAIR[0]]
    same = raw(equal), published(equal, KDeltaAnonymity(k=2, delta_m=0)), linked(2)
    assert found_in(same) == []
    assert NOT_K_ANONYMITY not in verdict_on_claim(*same).notes


def test_two_people_exchanged_in_the_linkage_of_nwa_are_found() -> None:
    """In one cylinder, and where a record then has times at which its person was not there."""
    city = read(synthesize(40, 1, seed=2), snap=False)
    release, linkage = Nwa(k=3, delta_m=2000, pi_s=4 * 3600).anonymize(city, Randomness.for_research(1))
    assert verdict_on_claim(city, release, linkage).kinds == set()
    claim = KDeltaAnonymity(k=3, delta_m=2000)
    near = co_located_records(claim, release)
    lines = [release.points.t[a:b].tobytes() for a, b in pairwise(release.offsets.tolist())]
    first = next(record for record in range(release.n_records) if len(near(record)) == claim.k)
    mate = next(int(other) for other in near(first) if other != first)
    apart = next(other for other, line in enumerate(lines) if line != lines[first])
    for other in (mate, apart):
        uids = list(linkage.uids)
        one, two = (linkage.trajectory_ids.index(release.trajectory_ids[row]) for row in (first, other))
        uids[one], uids[two] = uids[two], uids[one]
        forged = Linkage(tuple(uids), linkage.trajectory_ids)
        assert "exchanged-people" in verdict_on_claim(city, release, forged).kinds
    renamed = replace(release, trajectory_ids=tuple(f"{name}0" for name in release.trajectory_ids))
    assert "unknown-record" in verdict_on_claim(city, renamed, linkage).kinds, "no record has a person then"


def test_neighbors_of_other_clusters_are_not_taken_for_exchanged_people() -> None:
    """The second pair's cylinder reaches into the first's, so two moved past each other; as in Oldenburg."""
    raw_x, moved_x = (-370, 630, 400, -400), (80, 180, 50, -50)
    people_of, records = ([[(t, float(x), 0.0) for t in (0.0, 1.0)] for x in xs] for xs in (raw_x, moved_x))
    claim = KDeltaAnonymity(k=2, delta_m=100)
    assert found_in((raw(people_of), published(records, claim, method="nwa"), linked(4))) == []
    forged = Linkage(("p1", "p0", "p2", "p3"), linked(4).trajectory_ids)
    kinds = verdict_on_claim(raw(people_of), published(records, claim, method="nwa"), forged).kinds
    assert kinds == {"exchanged-people"}


def test_company_that_changes_is_told() -> None:
    """One is with the second first, and with the third then."""
    lines = [
        [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)],
        [(0.0, 5.0, 0.0), (1.0, 99.0, 0.0)],
        [(0.0, 99.0, 0.0), (1.0, 5.0, 0.0)],
    ]
    findings = {
        name: (kind, words) for kind, name, words in found_in((raw(lines), published(lines), linked(3)))
    }
    words = "1 others are within 10 m at each time, but no 1 that stay with it and each other all along"
    assert findings["r0"] == ("company-changes", words)
    assert findings["r1"] == ("alone-at-a-time", "at point 2 of 2, 0 others are near; expected 1 within 10 m")


def test_records_of_other_times_or_without_points_are_in_no_set() -> None:
    lines = [PAIR[0], [], PAIR[1], [PAIR[0][0]], [(0.0, 0.0, 0.0), (1.0, 3.0, 0.0)]]
    release = published(lines)
    near = co_located_records(K_DELTA, release)
    assert [near(record).tolist() for record in (0, 2, 3, 4)] == [[0, 2, 4], [0, 2, 4], [3], [0, 2, 4]]
    closer = co_located_records(KDeltaAnonymity(k=2, delta_m=3), release)
    assert [closer(record).tolist() for record in (0, 2)] == [[0, 4], [2]]


@pytest.mark.parametrize(
    ("lost", "case", "fine"),
    [(0, 0, True), (1, 1, True), (4, 4, True), (5, 5, False), (-1, -1, False), (0, 1, False), (1, 0, False)],
)
def test_points_are_the_raw_samples_less_the_lost_and_with_the_made(lost: int, case: int, fine: bool) -> None:
    losses = Losses(samples_suppressed=lost, samples_created=case)
    findings = found_in((raw(PAIR), published(PAIR, losses=losses), linked(2)))
    words = f"4 raw samples less {lost} suppressed and with {case} created are not 4 points"
    assert findings == [("points-not-accounted", None, words)] * (not fine)


@pytest.mark.parametrize(
    "claim", [K_DELTA, TrajectoryPrivacy(k=2, time_threshold_s=60, space_threshold_m=60)]
)
def test_a_pseudonym_stands_once(claim: Claim) -> None:
    release = published(PAIR, claim)
    twice = replace(release, trajectory_ids=("r0", "r0"))
    assert "duplicate-pseudonym" not in verdict_on_claim(raw(PAIR), release, None).kinds
    assert "duplicate-pseudonym" in verdict_on_claim(raw(PAIR), twice, None).kinds


# --- swapped points -----------------------------------------------------------------------------------------

# rows 0 and 1 are the first person's, 2 and 3 the second's; both sets are exchanged, the first crosswise
WALKS = [[(0.0, 0.0, 0.0), (100.0, 1.0, 0.0)], [(3.0, 3.0, 4.0), (103.0, 4.0, 4.0)]]
OURS = TrajectoryPrivacy(k=2, time_threshold_s=3, space_threshold_m=5)


def exchanged(walks: list[list[Point]] = WALKS, claim: Any = OURS, **columns: Any) -> Case:
    """Record r0 has rows 2 and 1, r1 has rows 0 and 3; columns of the trace may be others."""
    fields_of_release: dict[str, Any] = {
        "time_from": [2, 1, 0, 3],
        "place_from": [2, 1, 0, 3],
        "swap_set": [0, 1, 0, 1],
        "set_offsets": [0, 2, 4],
        "set_rows": [0, 2, 1, 3],
    }
    numbers: dict[str, Any] = {
        name: np.array(columns.get(name, one)) for name, one in fields_of_release.items()
    }
    trace = Trace(**numbers, place_of=())
    records = [[walks[1][0], walks[0][1]], [walks[0][0], walks[1][1]]]
    return raw(walks), published(records, claim), linked(2, trace)


def test_an_exchange_within_both_thresholds_is_sound() -> None:
    assert found_in(exchanged()) == []


def test_a_record_may_show_twice_what_two_people_have() -> None:
    walk = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)]
    rows = [0, 2, 3, 1]
    original, _, linkage = exchanged([walk] * 2, time_from=rows, place_from=rows, set_rows=[0, 3, 1, 2])
    assert found_in((original, published([[walk[0]] * 2, [walk[1]] * 2], OURS), linkage)) == []


NONE_TOLD = (
    "the trace speaks of other points or raw samples than there are; use the one made with this release"
)
UNTOLD = "of this record is not what the trace says it came from"
BEYOND = "the first: each holds a point beyond the"
TWICE = "from a raw sample that another point has it from"
APART = "point 2 of this record has its time and its place from different raw samples"
ALONE = "of this record was in no swap set"
STRANGE = "of this record ended with a trajectory that gave its set no point, or that got two"
TWINS = [[(0.0, 0.0, 0.0), (100.0, 1.0, 0.0)], [(3.0, 3.0, 4.0), (100.0, 1.0, 0.0)]]  # rows 1 and 3 are alike
BOTH = ("r0", "r1")
AGAINST_TRACE: dict[str, tuple[Case, list[Found]]] = {
    "k": (
        exchanged(claim=replace(OURS, k=3)),
        [("small-swap-set", None, "2 swap sets, number 1 the first: each has fewer than k = 3 points")],
    ),
    "late": (
        exchanged(claim=replace(OURS, time_threshold_s=2.9)),
        [("beyond-threshold", None, f"2 swap sets, number 1 {BEYOND} time threshold")],
    ),
    "far": (
        exchanged(claim=replace(OURS, space_threshold_m=4.9)),
        [("beyond-threshold", None, f"2 swap sets, number 1 {BEYOND} space threshold")],
    ),
    "one far": (
        exchanged([WALKS[0], [WALKS[1][0], (103.0, 5.0, 4.0)]]),
        [("beyond-threshold", None, f"1 swap set, number 2 {BEYOND} space threshold")],
    ),
    "one point too few": (exchanged(time_from=[2, 1, 0]), [("trace-mismatch", None, NONE_TOLD)]),
    "a row below": (exchanged(set_rows=[0, 2, 1, -1]), [("trace-mismatch", None, NONE_TOLD)]),
    "a row above": (exchanged(set_rows=[0, 2, 1, 4]), [("trace-mismatch", None, NONE_TOLD)]),
    "another place": (
        exchanged(place_from=[2, 3, 0, 1], time_from=[2, 3, 0, 1]),
        [("trace-mismatch", name, f"point 2 {UNTOLD}") for name in BOTH],
    ),
    "one raw sample twice": (
        exchanged(TWINS, place_from=[2, 1, 0, 1], time_from=[2, 1, 0, 1]),
        [
            ("doubled-point", name, f"point 2 of this record has its {what} {TWICE}")
            for what in ("place", "time")
            for name in BOTH
        ],
    ),
    "time and place apart": (
        exchanged(TWINS, time_from=[2, 3, 0, 1]),
        [
            ("time-changed", name, APART)
            for name in BOTH
        ],
    ),
    "a set below": (exchanged(swap_set=[0, 1, 0, -1]), [("unswapped-point", "r1", f"point 2 {ALONE}")]),
    "a set above": (exchanged(swap_set=[0, 1, 0, 2]), [("unswapped-point", "r1", f"point 2 {ALONE}")]),
    "another set": (
        exchanged(swap_set=[0, 0, 0, 1]),
        [("unswapped-point", "r0", f"point 2 {ALONE}")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", AGAINST_TRACE)
def test_what_a_trace_tells_is_held_against_points_sets_and_claim(name: str) -> None:
    case, expected = AGAINST_TRACE[name]
    assert found_in(case) == expected


def test_who_got_two_points_of_a_set_is_named() -> None:
    """The points of the second set change hands, so that both of a set end with one person."""
    original, _, linkage = exchanged()
    records = [[WALKS[0][0], WALKS[1][0]], [WALKS[0][1], WALKS[1][1]]]
    assert linkage.trace is not None
    rows, sets = np.array([0, 2, 1, 3]), np.array([0, 0, 1, 1])
    trace = replace(linkage.trace, time_from=rows, place_from=rows, swap_set=sets)
    findings = found_in((original, published(records, OURS), linked(2, trace)))
    assert findings == [("wrong-exchange", name, f"point 2 {STRANGE}") for name in BOTH]
    unlinked = Linkage(("p0",), ("r0",), trace)
    assert ("wrong-exchange", "r0", f"point 2 {STRANGE}") in found_in(
        (original, published(records, OURS), unlinked)
    )


def test_losses_of_swapped_points_add_up() -> None:
    original, release, linkage = exchanged()
    for losses, kind in (
        (Losses(samples_suppressed=1), "lost-samples-not-counted"),
        (Losses(samples_created=1), "lost-samples-not-counted"),
        (Losses(subjects_by_reason={"none": 1}), "lost-subjects-not-counted"),
    ):
        ((result, _, _),) = found_in((original, replace(release, losses=losses), linkage))
        assert result == kind


def test_a_place_is_shown_where_somebody_was_within_the_time_threshold() -> None:
    """The places are exchanged and the times stay: 3 s apart."""
    claim = LocationPrivacy(k=2, time_threshold_s=3, space_threshold_m=5, most_off_street_m=50)
    records = [[(0.0, 3.0, 4.0), WALKS[0][1]], [(3.0, 0.0, 0.0), WALKS[1][1]]]
    assert found_in((raw(WALKS), published(records, claim), linked(2))) == []
    findings = found_in((raw(WALKS), published(records, replace(claim, time_threshold_s=2.9)), linked(2)))
    words = "point 1 of this record shows a place where nobody was within the time threshold"
    assert findings == [("beyond-threshold", name, words) for name in BOTH]
    another = [[(0.0, 3.0, 4.0), (101.0, 1.0, 0.0)], records[1]]
    (changed,) = found_in((raw(WALKS), published(another, claim), linked(2)))
    assert changed[:2] == ("time-changed", "r0")


@pytest.mark.parametrize("moved", ["", "lat", "lon"])
def test_degrees_beside_places_are_compared_too(moved: str) -> None:
    original, release, linkage = exchanged()
    degrees: dict[str, Any] = {"lat": np.arange(4) / 8, "lon": np.arange(4) / 16}
    examined = {name: column[[2, 1, 0, 3]] for name, column in degrees.items()}
    if moved:
        examined[moved] = examined[moved] + [0, 0, 0, 0.25]
    case = (
        replace(original, **degrees),
        replace(release, payload=replace(release.points, **examined)),
        linkage,
    )
    words = "point 2 of this record shows a triple that stands nowhere in the raw data"
    assert found_in(case) == ([("invented-point", "r1", words)] if moved else [])


# --- draws --------------------------------------------------------------------------------------------------


def test_draws_are_read_from_traces() -> None:
    original, release, linkage = exchanged()
    assert linkage.trace is not None
    (draws,) = read_permutations(original, release, np.array([0, 1]), linkage.trace)
    assert (draws.c, draws.permutes, len(draws)) == (2, True, 2)
    assert draws.by_place.tolist() == draws.by_person.tolist() == [[1, 0], [0, 1]]
    assert draws.group[0] == draws.group[1]
    assert draws.t_s.tolist() == [1.5, 101.5]
    places = np.array([2, 1, 0, 3])
    trace = replace(linkage.trace, time_from=np.arange(4), place_from=places, set_rows=np.array([0, 2, 3, 1]))
    (choices,) = read_choices(original, trace)
    assert (choices.c, choices.permutes) == (2, False)
    assert choices.by_place.tolist() == choices.by_person.tolist() == [[1], [0]]
    assert choices.group.tolist() == [0, 1]
    assert choices.t_s.tolist() == [1.5, 101.5]


@pytest.mark.parametrize("times_stay", [True, False])
def test_a_shuffle_is_judged_by_chi_squared(times_stay: bool) -> None:
    """Of 12 sets of two 3 are exchanged: 9 and 3 where 6 and 6 are expected."""
    n, moved = 12, 3
    walks = [[(100.0 * i + 3 * who, float(i), float(who)) for i in range(n)] for who in range(2)]
    rows = np.arange(2 * n)
    other = np.where(rows % n < moved, (rows + n) % (2 * n), rows)
    trace = Trace(
        time_from=rows if times_stay else other,
        place_from=other,
        swap_set=rows % n,
        set_offsets=2 * np.arange(n + 1),
        set_rows=np.column_stack([rows[:n], rows[n:]]).ravel(),
        place_of=(),
    )
    examined = judge_places(
        read_draws(raw(walks), published(walks), np.array([0, 1]), trace, times_stay=times_stay)
    )
    square = 2 * 3**2 / 6 if times_stay else 0.5 * 4 * 3**2 / 6
    assert examined.p_value == pytest.approx(chi_squared_tail(square, 1))
    assert (examined.points, examined.stayed, examined.expected) == (
        (12, 9, 6) if times_stay else (24, 18, 12)
    )


def test_the_most_telling_distance_counts_its_share_of_false_alarms() -> None:
    """Draws repeat those two before for a while, and the last twelve the first twelve."""
    took = np.random.default_rng(5).integers(0, 4, 40)
    for i in range(2, 11):
        took[i] = took[i - 2]
    took[28:] = took[:12]
    chosen = took[:, None]
    draws = Draws(
        c=4, by_place=chosen, by_person=chosen, group=np.zeros(40, dtype=np.int64), t_s=np.arange(40.0)
    )
    near, far = _compare_by_lag([draws], "{}", mirrored=False)
    same = np.array([int((took[apart:] == took[:-apart]).sum()) for apart in range(1, 40)])
    apart = np.arange(1, 40)
    chances = _p_values([draws], same, [40 - apart])
    messages = chances * apart * (apart + 1) * 15
    assert (near.words, near.same, near.expected) == ("", same[0], 39 / 4)
    best = 2 + int(np.argmin(messages[1:]))
    assert far.words == f"{best} "
    assert far.p_value == pytest.approx(messages[1:].min())
    assert best != 2 + int(np.argmin((chances / (apart * (apart + 1)))[1:]))


# --- streets ------------------------------------------------------------------------------------------------


def test_points_lie_on_the_nearest_piece_and_not_beyond_its_ends() -> None:
    """One piece to the east of 10 m, and one of no length."""
    pieces = np.array([[0.0, 0.0, 10.0, 0.0, 0.25, 0.75], [50.0, 0.0, 50.0, 0.0, 0.0, 0.0]])
    places = [
        (5.0, 3.0),
        (-2.0, 0.0),
        (13.0, 0.0),
        (13.0001, 0.0),
        (10.0, -3.0),
        (50.0, 3.0),
        (50.0, 3.1),
        (-3.0, 0.0),
        (-3.1, 0.0),
    ]
    x, y = (read_only(np.array(column)) for column in zip(*places, strict=True))
    edge, share = np.full(len(x), -1, dtype=np.int64), np.zeros(len(x))
    nearest_edges(x, y, 3.0, pieces, np.array([7, 2]), 10.0, edge, share)
    assert edge.tolist() == [7, 7, 7, -1, 7, 2, -1, 7, -1]
    assert share.tolist() == [0.5, 0.25, 0.75, 0.0, 0.75, 0.0, 0.0, 0.25, 0.0]
    both = np.array([[0.0, 2.0, 10.0, 2.0, 0.0, 1.0], [0.0, -2.0, 10.0, -2.0, 0.0, 1.0]])
    for edges, first in (([4, 3], 3), ([3, 4], 3)):  # as near as each other: the smaller edge
        nearest_edges(
            read_only(np.array([5.0])),
            read_only(np.zeros(1)),
            3.0,
            both,
            np.array(edges),
            10.0,
            edge[:1],
            share[:1],
        )
        assert edge[0] == first
        edge[0] = -1


def test_paths_lead_over_the_ends_of_edges() -> None:
    streets = town(drop=20, seed=1).on_plane(None)
    draw = np.random.default_rng(2)
    chosen, along = draw.integers(0, streets.n_edges, 12), draw.integers(1, 100, 12)
    u, v = streets.u[chosen], streets.v[chosen]
    x, y = (read_only(at[u] + along / 100 * (at[v] - at[u])) for at in (streets.x, streets.y))
    lengths = PathLengths(streets, x, y, 1.0)
    matrix = np.full((streets.n_nodes, streets.n_nodes), np.inf)
    np.fill_diagonal(matrix, 0)
    matrix[streets.u, streets.v] = matrix[streets.v, streets.u] = streets.length_m
    between = floyd_warshall(matrix)
    start, goal = (part.ravel() for part in np.meshgrid(np.arange(12), np.arange(12)))
    ends = ((u, along), (v, 100 - along))
    ways = [between[a[start], b[goal]] + near[start] + far[goal] for a, near in ends for b, far in ends]
    same = np.where(chosen[start] == chosen[goal], np.abs(along[start] - along[goal]), np.inf)
    expected = np.minimum(np.min(ways, axis=0), same)
    assert np.isfinite(expected).any()
    np.testing.assert_allclose(lengths.between(start, goal, 1e9), expected)
