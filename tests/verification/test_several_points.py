"""Several releases of which some hold points.

Who could be whom against plain sets, mixed kinds, and claims that name nobody.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from command_line import Shoal
from damages import rows_of
from kte_oracle import is_candidate
from naive_release import stating
from shoal.attacks.together import attack_together
from shoal.errors import InputError
from shoal.methods.assembly import PointRecords, assemble_points
from shoal.methods.swapping.reach_locations import ReachLocations
from shoal.methods.swapping.swap_locations import SwapLocations
from shoal.model.claims import KAnonymity, KDeltaAnonymity, KteAnonymity, TrajectoryPrivacy
from shoal.model.grid import Grid
from shoal.model.release import Linkage, Points, Release
from shoal.model.trace import Trace
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.verification.composition.candidates import IssuedRelease
from shoal.verification.composition.several import Composition, candidates_of, reveal_together
from shoal.verification.points.co_location import co_located_records
from small_points import crowd, drivers, points_only, table_of_fleet, town

pytestmark = pytest.mark.kernels

Case = tuple[Release, Linkage]
Sets = dict[str, set[str]]


def walkers(n: int = 18, seed: int = 0) -> Trajectories:
    """People of one time span who keep near each other, some near others who are not near each other."""
    rng = np.random.default_rng(seed)
    rows = [
        (
            f"person-{i:02}-of-many",
            60.0 * fix,
            east + 20 * fix + rng.integers(-40, 41),
            north + rng.integers(-40, 41),
        )
        for i, (east, north) in enumerate(rng.integers(0, 900, (n, 2)).tolist())
        for fix in range(12)
    ]
    ids, t, x, y = zip(*rows, strict=True)
    return Trajectories.from_rows(ids, t, x, y)


def issued(original: Trajectories, case: Case, label: str = "the release") -> IssuedRelease:
    raw = original if case[0].kind == "points" else original.snapped_to(Grid())
    return IssuedRelease(label=label, original=raw, release=case[0], linkage=case[1])


def people_like(case: Case) -> Sets:
    """For everybody in the release the people who could be them, from every record or swapped point."""
    release, linkage = case
    uid_of = dict(zip(linkage.trajectory_ids, linkage.uids, strict=True))
    if isinstance(release.claim, KAnonymity):
        assert isinstance(release, shoal.Release)
        boxes = dict(zip(release.trajectory_ids, rows_of(release), strict=True))
        return {uid_of[a]: {uid_of[b] for b in boxes if boxes[b] == boxes[a]} for a in boxes}
    assert release.kind == "points"
    if isinstance(release.claim, KDeltaAnonymity):
        delta_m = release.claim.delta_m
        records = {name: release.record(place) for place, name in enumerate(release.trajectory_ids)}

        def keep_together(a: Points, b: Points) -> bool:
            rows = zip(a.x, a.y, b.x, b.y, strict=False)
            return a.t.tolist() == b.t.tolist() and all(
                np.hypot(ax - bx, ay - by) <= delta_m for ax, ay, bx, by in rows
            )

        return {
            uid_of[a]: {uid_of[b] for b in records if keep_together(records[a], records[b])} for a in records
        }
    trace = linkage.trace
    assert trace is not None
    owners: dict[int, set[str]] = {}
    for number, uid in zip(
        trace.swap_set.tolist(), trace.place_of, strict=True
    ):  # all points of a set are published
        owners.setdefault(number, set()).add(uid)
    return {
        uid: set.intersection(*(members for members in owners.values() if uid in members))
        for uid in linkage.uids
    }


def insist_on_sets(together: Composition, cases: list[Case]) -> None:
    """Everybody of the first release is left with the intersection of plain sets."""
    sets = [people_like(case) for case in cases]
    uid_of = dict(zip(cases[0][1].trajectory_ids, cases[0][1].uids, strict=True))
    asked = [uid_of[cases[0][0].trajectory_ids[record]] for record in together.record.tolist()]
    assert asked
    assert sorted(asked) == sorted(cases[0][1].uids)
    for row, uid in enumerate(asked):
        uids_linked = [item.get(uid) for item in sets]
        assert together.remaining[row] == len(
            set.intersection(*(one for one in uids_linked if one is not None))
        )
        assert together.alone[row].tolist() == [-1 if one is None else len(one) for one in uids_linked]
    assert together.right.all()
    assert together.right_alone.all()


def swap(original: Trajectories, k: int, **settings: object) -> Case:
    method = SwapLocations(k=k, **settings)  # type: ignore[arg-type]
    return method.anonymize(original, Randomness.from_system())


MAKERS: dict[str, Callable[[Trajectories], Case]] = {
    "nwa": lambda people: shoal.Nwa(k=3, delta_m=400, pi_s=60, step_s=60).anonymize(
        people, Randomness.from_system()
    ),
    "nwa, wide": lambda people: shoal.Nwa(k=2, delta_m=900, pi_s=60, step_s=60).anonymize(
        people, Randomness.from_system()
    ),
    "nwa, delta 0": lambda people: shoal.Nwa(k=4, delta_m=0, pi_s=60, step_s=60, trash=0).anonymize(
        people, Randomness.from_system()
    ),
    "w4m": lambda people: shoal.W4m(k=3, delta_m=300).anonymize(people, Randomness.from_system()),
    "swap": lambda people: swap(people, 3),
    "swap, mdav": lambda people: swap(people, 4, clustering="mdav"),
    "swap, near": lambda people: swap(people, 2, space_threshold_m=150),
    "glove": lambda people: shoal.Glove(k=3).anonymize(people.snapped_to(Grid()), Randomness.from_system()),
}


@pytest.mark.jit_only
@pytest.mark.parametrize(
    "names",
    [
        ("nwa", "nwa, wide"),
        ("nwa, wide", "w4m", "nwa, delta 0"),
        ("swap", "swap, mdav"),
        ("swap, near", "swap"),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_people_left_are_those_of_plain_sets(names: tuple[str, ...], seed: int) -> None:
    people = walkers(seed=seed)
    cases = [MAKERS[name](people) for name in names]
    together = reveal_together(issued(people, cases[0]), [issued(people, case) for case in cases[1:]])
    insist_on_sets(together, cases)
    assert together.k == min(case[0].claim.k for case in cases)
    assert (together.alone[together.alone >= 0] >= together.k).all(), "each claim alone leaves its k"
    rates = attack_together([(people, *case) for case in cases])
    assert rates[0].rate <= min(1 / together.k, rates[1].rate) + 1e-9
    assert {finding.trajectory_id for finding in together.findings()} <= set(cases[0][0].trajectory_ids)


@pytest.mark.parametrize(
    "names", [("glove", "swap"), ("w4m", "glove", "nwa, delta 0"), ("swap, mdav", "nwa")]
)
def test_boxes_and_points_are_put_together(names: tuple[str, ...]) -> None:
    people = walkers(seed=7)
    cases = [MAKERS[name](people) for name in names]
    insist_on_sets(
        reveal_together(issued(people, cases[0]), [issued(people, case) for case in cases[1:]]), cases
    )


def test_co_location_is_told_from_the_whole_record_and_not_passed_on() -> None:
    row = [[(0.0, 0.0, 0.0)], [(0.0, 2.0, 0.0)], [(0.0, 4.0, 0.0)], [(1.0, 0.0, 0.0)]]
    near = co_located_records(KDeltaAnonymity(k=2, delta_m=2.0), points_only(row, 2, 2.0)[1])
    assert [near(record).tolist() for record in range(4)] == [[0, 1], [0, 1, 2], [1, 2], [3]]


places = st.integers(0, 4).map(float)


@given(
    walks=st.lists(
        st.tuples(st.sampled_from([0, 0, 1]), st.lists(st.tuples(places, places), min_size=1, max_size=2)),
        min_size=1,
        max_size=8,
    ),
    delta_m=st.sampled_from([0.0, 1.0, 1.5, 3.0]),
)
def test_co_location_is_that_of_every_pair(
    walks: list[tuple[int, list[tuple[float, float]]]], delta_m: float
) -> None:
    records = [[(float(start + step), x, y) for step, (x, y) in enumerate(walk)] for start, walk in walks]
    _, release = points_only(records, 2, delta_m)
    near = co_located_records(KDeltaAnonymity(k=2, delta_m=delta_m), release)
    assert release.n_records == len(records) > 0
    for record, a in enumerate(records):
        expected = [
            other
            for other, b in enumerate(records)
            if [p[0] for p in a] == [p[0] for p in b]
            and all(np.hypot(p[1] - q[1], p[2] - q[2]) <= delta_m for p, q in zip(a, b, strict=True))
        ]
        assert near(record).tolist() == expected


def test_people_swapped_in_different_sets_are_those_who_were_in_all_of_them() -> None:
    """a and b gave a triple to both sets, c to one alone, and of d nothing was swapped."""
    people = Trajectories.from_rows(list("aabbcd"), [0.0, 1, 0, 1, 0, 0], [0.0] * 6, np.arange(6.0))
    rows = np.array([0, 2, 4, 1, 3])
    trace = Trace(
        time_from=rows,
        place_from=rows,
        swap_set=np.array([0, 0, 0, 1, 1]),
        set_offsets=np.array([0, 3, 5]),
        set_rows=rows,
        place_of=("a", "b", "c", "a", "b"),
    )
    release = replace(
        points_only([[(0.0, 0.0, 0.0)]] * 5, 2, 0)[1],
        claim=TrajectoryPrivacy(k=2, time_threshold_s=9, space_threshold_m=9),
    )
    one = IssuedRelease(label="it", original=people, release=release, linkage=Linkage((), (), trace))
    fit = candidates_of(one, np.array([3, 2, 1, 0]), np.array([4, 3, 2, 1]), None)
    result = [fit(person, 0.0) for person in range(4)]
    assert [None if who is None else who.tolist() for who in result] == [None, [1, 2, 3], [2, 3], [2, 3]]


def test_the_same_release_twice_reveals_nothing_more_and_delta_is_said() -> None:
    people = walkers(seed=4)
    for name, words in (
        ("nwa", "everything, places to within 400 m"),
        ("swap", "everything"),
        ("nwa, delta 0", "everything"),
    ):
        case = MAKERS[name](people)
        together = reveal_together(issued(people, case), [issued(people, case)])
        assert (together.remaining == together.alone[:, 0]).all()
        assert not list(together.findings())
        assert together.to_json()["knowledge"] == words
        rates = attack_together([(people, *case)] * 2)
        assert ("within 400 m" in rates[1].attacker) == (name == "nwa")


def averaged(people: Trajectories, classes: list[list[int]], *, k: int) -> Case:
    """A release in which each of these classes is published as its average.

    All people have samples at the same times.
    """
    members = [person for person_samples in classes for person in person_samples]
    t = people.samples_of(0)[0]
    x, y = (
        np.concatenate(
            [
                np.tile(
                    np.mean([people.samples_of(i)[axis] for i in person_samples], axis=0), len(person_samples)
                )
                for person_samples in classes
            ]
        )
        for axis in (1, 2)
    )
    release, linkage, _ = assemble_points(
        people,
        PointRecords(
            members=np.array(members),
            offsets=np.arange(len(members) + 1) * len(t),
            points=Points(t=np.tile(t, len(members)), x=x, y=y),
            stands_for=np.concatenate([np.arange(people.offsets[i], people.offsets[i + 1]) for i in members]),
        ),
        stating(KDeltaAnonymity(k=k, delta_m=0), "nwa"),
        Randomness.from_system(),
    )
    return release, linkage


def test_planted_classes_have_the_intersections_that_were_planted() -> None:
    people = walkers(9)
    first = averaged(people, [[0, 1, 2], [3, 4, 5], [6, 7, 8]], k=3)
    second = averaged(people, [[0, 3, 6], [1, 4, 7], [2, 5, 8]], k=3)
    third = averaged(people, [[0, 1, 2], [4, 5]], k=2)  # the others are in no class
    both = reveal_together(issued(people, first), [issued(people, second)])
    assert both.remaining.tolist() == [1] * 9
    assert [finding.kind for finding in both.findings()] == ["fewer-than-k-together"] * 9
    assert both.to_json() | {"people_below_k": 9, "least": 1, "mean_chance": 1.0, "k": 3} == both.to_json()
    with_third = reveal_together(issued(people, first), [issued(people, third)])
    assert sorted(with_third.remaining.tolist()) == [2, 2, 3, 3, 3, 3, 3, 3, 3]
    assert not list(with_third.findings()), "two are as many as the least of the claims promises"


def test_followers_are_asked_for_beside_points() -> None:
    """kte-hide before a release of points, and after it.

    In each interval those who fit, intersected with who is co-located.
    """
    people = shoal.read(table_of_fleet(16), snap=False)
    snapped = people.snapped_to(Grid())
    hidden: Case = shoal.KteHide(k=2, tau_s=600, epsilon_s=600).anonymize(snapped, Randomness.from_system())
    moved: Case = shoal.W4m(k=3, delta_m=3000).anonymize(people, Randomness.from_system())
    assert isinstance(hidden[0].claim, KteAnonymity)
    co_located, boxes = (
        people_like(moved),
        dict(zip(hidden[0].trajectory_ids, rows_of(hidden[0]), strict=True)),
    )
    uid_of, record_of = (
        dict(zip(*pair, strict=True))
        for pair in ((hidden[1].trajectory_ids, hidden[1].uids), (hidden[1].uids, hidden[1].trajectory_ids))
    )
    for newest, earlier in ((hidden, moved), (moved, hidden)):
        together = reveal_together(issued(people, newest), [issued(people, earlier)], most=50)
        assert together.knowledge == "any 10 min, places to within 3 km"
        base = snapped if newest is hidden else people
        owner = np.repeat(np.arange(people.n_subjects), base.lengths)
        every = np.flatnonzero([people.ids[i] in newest[1].uids for i in owner])
        expected = []
        for i in every[np.unique(np.linspace(0, len(every) - 1, 50).astype(int))].tolist():
            uid, start = people.ids[owner[i]], int(base.t[i] // (1 if base is snapped else 60))
            person_samples = boxes.get(record_of.get(uid, ""), [])
            samples = list(
                zip(*(column.tolist() for column in snapped.samples_of(int(owner[i]))), strict=True)
            )
            seen = [
                s
                for s in samples
                if start <= s[0] < start + 11  # ten minutes touch eleven slots
                and any(
                    b[0] <= s[0] < b[1] and b[2] <= s[1] < b[4] and b[3] <= s[2] < b[5]
                    for b in person_samples
                )
            ]
            fitting = (
                {uid_of[name] for name, of in boxes.items() if is_candidate(of, seen, start, 11)}
                if seen
                else None
            )
            if newest is hidden and fitting is None:
                continue
            n_left = set.intersection(*(one for one in (fitting, co_located.get(uid)) if one is not None))
            expected.append((len(n_left), uid in n_left))
        assert list(zip(together.remaining.tolist(), together.right.tolist(), strict=True)) == expected
        assert len(expected) > 20


def test_claims_from_which_nobody_follows_are_refused_with_the_reason() -> None:
    streets = town()
    rides = drivers(streets, 24)
    reached = ReachLocations(k=3, streets=streets).anonymize(rides, Randomness.from_system())
    swapped = swap(rides, 3)
    for newest, earlier, label in ((swapped, reached, "the earlier"), (reached, swapped, "the release")):
        with pytest.raises(
            InputError, match=f"{label} claims location-p-privacy, .* keep the times of their people"
        ):
            reveal_together(issued(rides, newest), [issued(rides, earlier, "the earlier")])


def test_what_does_not_belong_together_is_refused() -> None:
    people = walkers()
    sound, moved = swap(people, 3), MAKERS["nwa"](people)
    longer = Trajectories.from_rows(*more_of(people))
    assert isinstance(moved[0], Release)
    none = np.empty(0)
    empty = replace(
        moved[0],
        trajectory_ids=(),
        offsets=np.zeros(1, dtype=np.int64),
        payload=Points(t=none, x=none, y=none),
    )
    cases: list[tuple[Case, str]] = [
        (swap(walkers(seed=9), 3), "the earlier was made from other data"),
        (MAKERS["w4m"](longer), "the earlier was made from other data"),
        (MAKERS["nwa"](walkers(20)), "the earlier: the release does not belong"),
        ((replace(moved[0], unit_of_protection="each vehicle"), moved[1]), "same unit of protection"),
        ((moved[0], Linkage(moved[1].uids[1:], moved[1].trajectory_ids[1:])), "the earlier: .* no subject"),
        ((empty, Linkage((), ())), "the earlier: the release holds no record"),
        (
            (sound[0], Linkage(sound[1].uids, sound[1].trajectory_ids)),
            r"NAME\.parquet, which is missing",
        ),
        (
            (sound[0], replace_trace(sound[1], swap(crowd(), 3)[1])),
            r"other points or raw samples than there are in origin",
        ),
        ((sound[0], with_row(sound[1], -1)), r"other points or raw samples than there are in origin"),
        (
            (sound[0], with_row(sound[1], people.n_samples)),
            r"other points or raw samples than there are in origin",
        ),
    ]
    for earlier, message in cases:
        with pytest.raises(InputError, match=message):
            reveal_together(issued(people, moved), [issued(people, earlier, "the earlier")])
    with pytest.raises(InputError, match="the release was swapped"):
        reveal_together(
            issued(people, (sound[0], Linkage(sound[1].uids, sound[1].trajectory_ids))),
            [issued(people, moved)],
        )
    with pytest.raises(InputError, match="the earlier was made from other data, or was changed"):
        reveal_together(
            issued(people, moved),
            [issued(people, (sound[0], replace_trace(sound[1], scrambled(sound[1]))), "the earlier")],
        )


def more_of(people: Trajectories) -> tuple[list[str], list[float], list[float], list[float]]:
    """The rows of the same people, and one more of each."""
    ids = [uid for uid, n in zip(people.ids, people.lengths.tolist(), strict=True) for _ in range(n)]
    n = people.n_subjects
    return [*ids, *people.ids], [*people.t, *[9000.0] * n], [*people.x, *range(n)], [*people.y, *range(n)]


def replace_trace(linkage: Linkage, other: Linkage) -> Linkage:
    return Linkage(linkage.uids, linkage.trajectory_ids, other.trace)


def with_row(linkage: Linkage, row: int) -> Linkage:
    """The same origins, and another raw sample first in a set."""
    trace = linkage.trace
    assert trace is not None
    return replace_trace(linkage, Linkage((), (), replace(trace, set_rows=np.r_[row, trace.set_rows[1:]])))


def scrambled(linkage: Linkage) -> Linkage:
    """The same origins with all sets shifted by one point."""
    trace = linkage.trace
    assert trace is not None
    return replace_trace(linkage, Linkage((), (), replace(trace, set_rows=np.roll(trace.set_rows, 1))))


@pytest.mark.jit_only
def test_the_commands_take_earlier_releases_of_points(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call, raw = Shoal(capsys), tmp_path / "fleet.parquet"
    pq.write_table(table_of_fleet(16), raw)
    swapping = ("--method", "swap-locations", "--time-threshold", "10min")
    methods: dict[str, tuple[object, ...]] = {
        "swap": (*swapping, "--k", 2),
        "mdav": (*swapping, "--k", 4, "--clustering", "mdav"),
        "w4m": ("--method", "w4m", "--k", 2),
        "boxes": ("--method", "glove", "--k", 2),
    }
    links = {name: tmp_path / f"{name}.links" / "linkage.parquet" for name in methods}
    for name, method in methods.items():
        assert (
            call(
                "anonymize",
                raw,
                "--output",
                tmp_path / name,
                "--linkage",
                links[name],
                "--risk-tries",
                0,
                *method,
            ).code
            == 0
        )
    for newest, earlier in (("swap", "mdav"), ("w4m", "swap"), ("boxes", "mdav"), ("mdav", "boxes")):
        words = (
            raw,
            tmp_path / newest,
            "--linkage",
            links[newest],
            "--earlier",
            f"{tmp_path / earlier}={links[earlier]}",
        )
        output = call("verify", *words, "--json")
        facts = json.loads(output.out)["together"]
        assert (facts["releases"], facts["k"]) == (2, 2)
        assert output.code == (1 if facts["people_below_k"] else 0)
        attacked = json.loads(call("attack", *words, "--knowledge", "points:1", "--json").out)["attacks"]
        assert attacked[-1]["name"] == "intersection"
        assert attacked[-1]["rate"] == pytest.approx(facts["mean_chance"])
        assert not any(f'"{uid}"' in output.out for uid in shoal.read(raw).ids)
    (links["swap"].parent / "origin.parquet").unlink()
    refused = call(
        "verify",
        raw,
        tmp_path / "w4m",
        "--linkage",
        links["w4m"],
        "--earlier",
        f"{tmp_path / 'swap'}={links['swap']}",
    )
    assert refused.code == 2
    assert "NAME-origin.parquet beside NAME.parquet, which is missing" in refused.err
