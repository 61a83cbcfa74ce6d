"""Records of several releases joined to lines, against plain sets and planted crowds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from example_counts import examples
from shoal.attacks.evaluation import Evaluation
from shoal.attacks.lines import Lines, LinkedRelease, attack_lines, join_releases
from shoal.attacks.target import BoxTarget
from shoal.errors import MisuseError
from shoal.kernels.noisy_likelihood import Noise
from shoal.model.grid import Grid
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from small_points import crowd
from small_releases import in_classes

LENGTH = 3  # samples of a person in a week


def week(number: int, people: list[int], **facts: object) -> Trajectories:
    """People who are nowhere near each other; the weeks are disjoint."""
    rows = [(f"p{i:02d}", 1000 * number + j, 100 * i + j, 7 * i) for i in people for j in range(LENGTH)]
    ids, t, x, y = zip(*rows, strict=True)
    return Trajectories.from_rows(ids, t, x, y, grid=Grid(), **facts)  # type: ignore[arg-type]


def released(number: int, crowds: list[list[int]], **facts: object) -> LinkedRelease:
    """A week whose people, by number, share these crowds."""
    people = week(number, sorted(one for crowd in crowds for one in crowd), **facts)
    places = [[people.ids.index(f"p{one:02d}") for one in crowd] for crowd in crowds]
    return people, *in_classes(people, places)


def rates(releases: list[LinkedRelease], *knowledge: str, absences: bool = False) -> dict[str, float]:
    played = attack_lines(releases, knowledge, rng=np.random.default_rng(0), tries=100)
    return {rate.name: rate.rate for rate in played if ("and absences" in rate.knowledge) == absences}


def single_out(releases: list[LinkedRelease], *, absences: bool) -> float:
    """The share of people whose line alone covers all that is known of them."""
    boxes: dict[str, list[tuple[int, ...]]] = {}
    known: dict[str, list[tuple[int, int, int]]] = {}
    for people, release, linkage in releases:
        for uid, name in zip(linkage.uids, linkage.trajectory_ids, strict=True):
            record = np.column_stack(release.record(release.trajectory_ids.index(name)).columns())
            boxes.setdefault(uid, []).extend(map(tuple, record.tolist()))
            samples = np.column_stack(people.samples_of(people.ids.index(uid)))
            known.setdefault(uid, []).extend(map(tuple, samples.tolist()))
    in_all = set.intersection(*(set(linkage.uids) for _, _, linkage in releases))
    asked = set(releases[0][2].uids) if absences else in_all
    alone = 0
    for uid in asked:
        fits = [
            other
            for other, line in boxes.items()
            if all(
                any(b[0] <= t < b[1] and b[2] <= x < b[4] and b[3] <= y < b[5] for b in line)
                for t, x, y in known[uid]
            )
        ]
        alone += fits == [uid]
    return alone / len(asked)


@examples(0.3)
@given(st.data())
def test_a_line_alone_covers_what_plain_boxes_say(data: st.DataObject) -> None:
    weeks = []
    for number in range(data.draw(st.integers(1, 3))):
        present = [0, *data.draw(st.lists(st.integers(1, 7), min_size=3, max_size=7, unique=True))]
        cut = data.draw(st.integers(2, len(present) - 2))
        weeks.append(released(number, [sorted(present[:cut]), sorted(present[cut:])]))
    known = f"points:{LENGTH}"
    assert rates(weeks, known)["unicity"] == pytest.approx(single_out(weeks, absences=False))
    if informed := rates(weeks, known, absences=True):
        assert informed["unicity"] == pytest.approx(single_out(weeks, absences=True))


def test_crowds_that_stay_keep_everyone_among_k_and_crowds_that_change_do_not() -> None:
    crowds, others = [[0, 1, 2], [3, 4, 5], [6, 7, 8]], [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    stay = [released(1, crowds), released(0, crowds)]
    change = [released(1, others), released(0, crowds)]
    known = ["points:3", "noisy:3:100m:1min", "top:2"]
    for name in ("linkage", "noisy-linkage", "top-locations"):
        assert rates(stay, *known)[name] <= 1 / 3 + 1e-9
        assert rates([change[0]], *known)[name] <= 1 / 3 + 1e-9
    assert rates(change, *known)["linkage"] > 1 / 3
    assert rates(stay, "home-work", "membership:4", "series").keys() <= {"home", "work"}


def test_a_newcomer_in_a_crowd_is_named_by_who_knows_the_absence_alone() -> None:
    weeks = [released(1, [[0, 1, 2, 6], [3, 4, 5]]), released(0, [[0, 1, 2], [3, 4, 5]])]
    blind, informed = rates(weeks, "points:3"), rates(weeks, "points:3", absences=True)
    assert blind["linkage"] <= 1 / 3 < informed["linkage"]
    with pytest.raises(MisuseError, match="nobody has a record in all"):
        rates([released(1, [[0, 1]]), released(0, [[2, 3]])], "points:1")


def test_as_much_is_known_of_each_release() -> None:
    weeks = [released(2, [[0, 1], [2, 3]]), released(1, [[0, 1], [4, 5]]), released(0, [[0, 1], [2, 3]])]
    lines = join_releases(weeks)
    assert [lines.people.ids[one] for one in lines.in_newest.tolist()] == ["p00", "p01", "p02", "p03"]
    assert lines.in_all.tolist() == [0, 1]
    assert lines.target.n_records == lines.people.n_subjects == 6
    offsets, samples = evaluation_of(lines).draw_samples(2, np.random.default_rng(0))
    counts = [
        np.bincount(part[:, 0] // 1000, minlength=3).tolist() for part in np.split(samples, offsets[1:-1])
    ]
    assert counts == [[2, 2, 2], [2, 2, 2], [2, 0, 2], [2, 0, 2]]


def evaluation_of(lines: Lines) -> Evaluation[BoxTarget]:
    return Evaluation(
        people=lines.people,
        target=lines.target,
        victims=lines.in_newest,
        records=lines.in_newest,
        label="release",
        start=0.0,
        run=Run(),
        release_of=lines.release_of,
        number_of=lines.number_of,
    )


@pytest.mark.parametrize("noisy", [False, True], ids=["exact", "noisy"])
def test_the_same_samples_are_known_of_releases_of_one_period(noisy: bool) -> None:
    """With the same errors: two releases do not tell one adversary of more moments than one does."""
    both = join_releases([released(0, [[0, 1], [2, 3]]), released(0, [[0, 2], [1, 3]])])
    for seed in range(5):
        evaluation, rng = evaluation_of(both), np.random.default_rng(seed)
        offsets, *_, seen = (
            evaluation.draw_noisy_samples(2, Noise(2.0, 3.0, 6.0, 1e-12), rng)
            if noisy
            else evaluation.draw_samples(2, rng)
        )
        assert offsets.tolist() == [0, 4, 8, 12, 16]
        first, second = np.sort(seen.reshape(4, 2, 2, 3), axis=2).transpose(1, 0, 2, 3)
        apart = second - first
        assert np.allclose(apart[..., 0], 7 * 1440)
        assert np.allclose(apart[..., 1:], 0)


def test_releases_of_one_period_narrow_down_to_those_who_fit_both() -> None:
    """People live in a row: 0 and 3 are alone in their lines, and 1 and 2 also in that of 0 or of 3."""
    both = [released(0, [[0, 1], [2, 3]]), released(0, [[0, 2], [1, 3]])]
    assert rates(both, "points:3")["unicity"] == 0.5


def test_lines_hold_their_people_where_planes_differ() -> None:
    planes = [f"+proj=laea +lat_0={lat} +lon_0=5.0 +datum=WGS84 +units=m +no_defs" for lat in (50.0, 50.1)]
    crowds = [[0, 1, 2], [3, 4, 5]]
    lines = join_releases([released(1, crowds, crs=planes[0]), released(0, crowds, crs=planes[1])])
    for person in range(lines.people.n_subjects):
        boxes = lines.target.record(person)
        for t, x, y in zip(*lines.people.samples_of(person), strict=True):
            held = (boxes[:, :3:2] <= [t, x]).all(axis=1) & (boxes[:, 3] <= y)
            held &= (boxes[:, 1] > t) & (boxes[:, 4] > x) & (boxes[:, 5] > y)
            assert held.any()
    y = lines.people.samples_of(0)[2]
    assert abs(int(np.ptp(y)) - 111) < 2  # a tenth of a degree, in cells


def test_points_are_joined_as_the_cells_that_hold_them() -> None:
    town = crowd(10, seed=1)
    moved = [
        shoal.W4m(k=2, delta_m=400, trash=0.1).anonymize(town, Randomness.for_research(seed))
        for seed in (1, 2)
    ]
    lines = join_releases([(town, *case) for case in moved])
    assert lines.people.grid == Grid()
    assert lines.target.n_records == lines.people.n_subjects <= 10
    boxes = lines.target.boxes.astype(np.int64)
    assert (boxes[:, [1, 4, 5]] - boxes[:, [0, 2, 3]] == 1).all()
    assert rates([(town, *case) for case in moved], "points:4").keys() == {"unicity", "linkage"}


def test_releases_of_other_cells_or_without_a_plane_are_refused() -> None:
    people = week(0, [0, 1]), week(1, [0, 1], crs="EPSG:2154")
    cases = [(one, *in_classes(one, [[0, 1]])) for one in people]
    with pytest.raises(MisuseError, match="in local meters"):
        join_releases(cases)
    other = Trajectories.from_rows(["p00", "p01"], [0, 1], [0, 1], [0, 1], grid=Grid(cell_m=500))
    with pytest.raises(MisuseError, match="other cells or slots"):
        join_releases([cases[0], (other, *in_classes(other, [[0, 1]]))])
