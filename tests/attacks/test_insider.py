"""What members of a class and readers of tight boxes learn: known answers, an oracle, and coarse boxes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hull_oracle
from kte_oracle import is_candidate
from planted_people import bursts
from shoal.attacks import Rate, attack
from shoal.attacks.adversary import Adversary
from shoal.attacks.attacking import AttackScope
from shoal.attacks.rate import Error
from shoal.attacks.table import ATTACKS
from shoal.errors import MisuseError
from shoal.kernels.insider import N_SHARES, find_sharers, guess_samples, score_guesses
from shoal.kernels.weighed_runs import Tracks
from shoal.methods.kte_hide.kte_hide import KteHide
from shoal.model.grid import Grid
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers, read_only
from shoal.runtime.randomness import Randomness
from small_data import populations
from small_releases import naive_release, random_people

pytestmark = pytest.mark.kernels

INSIDER: Adversary = ATTACKS["insider"]
SIDES = (("t_start", "x_min", "y_min"), ("t_end", "x_max", "y_max"))
NOTHING = np.empty((0, 3), dtype=np.int64)


def hull(samples: list[tuple[int, int, int]]) -> list[int]:
    """The tight box of these samples, as a row of boxes."""
    t, x, y = zip(*samples, strict=True)
    return [min(t), max(t) + 1, min(x), min(y), max(x) + 1, max(y) + 1]


def named_samples(boxes: Integers, known: Integers) -> Integers:
    named = np.empty((len(boxes), 3), dtype=np.int64)
    guess_samples(boxes, known[np.argsort(known[:, 0], kind="stable")], named)
    return named


def judged(
    boxes: Integers, named: Integers, samples: Integers, rows: Integers | None = None
) -> tuple[Floats, Floats]:
    """The six shares, and the errors of the samples that a box holds; rows: of the boxes that count."""
    shares, errors = np.empty(N_SHARES), np.empty((len(samples), 2))
    counted = np.isin(np.arange(len(boxes)), np.arange(len(boxes)) if rows is None else rows)
    score_guesses(boxes, named, counted, samples, shares, errors)
    return shares, errors[np.isfinite(errors[:, 0])]


def rates(
    original: Trajectories, k: int, *, boxes_per_record: int = 12, suppress: int = 0
) -> dict[tuple[str, str, str], Rate]:
    release, linkage = naive_release(original, k=k, boxes_per_record=boxes_per_record, suppress=suppress)
    found = attack(
        original,
        release,
        linkage,
        knowledge=["insider", "insider:all", "downcoding"],
        rng=Randomness.for_research(1),
    )
    return {(one.name, one.knowledge, one.target): one for one in found.rates}


def test_in_a_class_of_two_the_sides_that_are_not_mine_are_my_partners() -> None:
    mine, partner = [(0, 0, 0), (5, 3, 3)], [(2, 7, 4), (9, 3, 8)]
    boxes = np.array([hull([mine[0], partner[0]]), hull([mine[1], partner[1]])])
    named = named_samples(boxes, np.array(mine))
    assert named.tolist() == [[2, 7, 4], [9, 3, 8]]
    exact, place, lucky, lucky_place = judged(boxes, named, np.array(partner))[0][:4]
    assert (exact, place) == (1, 1)
    assert lucky == pytest.approx((1 / (3 * 8 * 5) + 1 / (5 * 1 * 6)) / 2)
    assert lucky_place == pytest.approx((1 / (8 * 5) + 1 / 6) / 2)


def test_a_place_that_one_box_shows_alone_is_named_in_wider_ones() -> None:
    home = (4, 6)
    boxes = np.array([hull([(0, *home)]), hull([(10, *home), (12, 9, 9)]), hull([(20, 1, 6), (21, *home)])])
    named = named_samples(boxes, NOTHING)
    assert [tuple(one) for one in named[:, 1:].tolist()] == [home] * 3


@given(seed=st.integers(0, 500), own=st.integers(0, 4), others=st.integers(1, 4))
def test_what_is_named_can_be_true_of_somebody_else(seed: int, own: int, others: int) -> None:
    """On each axis an untouched side is named, whatever the votes: an oracle that looks at one box."""
    draw = np.random.default_rng(seed)
    mine = draw.integers(0, 5, (own, 3))
    box = np.array(
        [hull([tuple(one) for one in [*mine.tolist(), *draw.integers(0, 5, (others, 3)).tolist()]])]
    )
    (named,) = named_samples(box, mine)
    for axis, (low, high) in enumerate(((0, 1), (2, 4), (3, 5))):
        sides = {int(box[0, low]), int(box[0, high]) - 1}
        free = [side for side in sides if side not in mine[:, axis]]
        if free:
            assert named[axis] in free
        else:
            assert box[0, low] <= named[axis] < box[0, high]


def named_in_boxes(seed: int) -> tuple[Integers, Integers, Integers]:
    """Six samples or fewer, three boxes, and a sample named in each of them."""
    draw = np.random.default_rng(seed)
    samples = np.unique(draw.integers(0, 4, (6, 3)), axis=0)
    boxes = np.array([hull([tuple(one) for one in draw.integers(0, 4, (2, 3)).tolist()]) for _ in range(3)])
    named = np.array(
        [
            [draw.integers(*box[[0, 1]]), draw.integers(*box[[2, 4]]), draw.integers(*box[[3, 5]])]
            for box in boxes
        ]
    )
    return samples, boxes, named


@given(seed=st.integers(0, 500))
def test_shares_are_those_of_counting(seed: int) -> None:
    samples, boxes, named = named_in_boxes(seed)
    counts = np.zeros(4)
    for box, (t, x, y) in zip(boxes.tolist(), named.tolist(), strict=True):
        held = [
            s
            for s in samples.tolist()
            if box[0] <= s[0] < box[1] and box[2] <= s[1] < box[4] and box[3] <= s[2] < box[5]
        ]
        area = (box[4] - box[2]) * (box[5] - box[3])
        counts += [
            [t, x, y] in held,
            (x, y) in {(b, c) for _, b, c in held},
            len(held) / (area * (box[1] - box[0])),
            len({(b, c) for _, b, c in held}) / area,
        ]
    np.testing.assert_allclose(judged(boxes, named, samples)[0][:4], counts / 3)


@given(seed=st.integers(0, 500))
def test_shares_and_errors_of_samples_are_those_of_counting(seed: int) -> None:
    samples, boxes, named = named_in_boxes(seed)
    exact, lucky, errors = 0, 0.0, []
    for t, x, y in samples.tolist():
        held = [
            (box, told)
            for box, told in zip(boxes.tolist(), named.tolist(), strict=True)
            if box[0] <= t < box[1] and box[2] <= x < box[4] and box[3] <= y < box[5]
        ]
        exact += any(told == [t, x, y] for _, told in held)
        lucky += min(1.0, sum(1 / ((b[1] - b[0]) * (b[4] - b[2]) * (b[5] - b[3])) for b, _ in held))
        if held:
            errors.append(min(((told[1] - x) ** 2 + (told[2] - y) ** 2) ** 0.5 for _, told in held))
    shares, found = judged(boxes, named, samples)
    assert shares[4:].tolist() == pytest.approx([exact / len(samples), lucky / len(samples)])
    np.testing.assert_allclose(found[:, 0], errors)


@given(
    seed=st.integers(0, 500),
    own=st.integers(0, 12),
    others=st.integers(1, 12),
    boxes=st.integers(1, 9),
    some=st.booleans(),
)
def test_what_is_named_and_how_right_it_is_are_those_of_whole_tables(
    seed: int, own: int, others: int, boxes: int, some: bool
) -> None:
    draw = np.random.default_rng(seed)
    mine, theirs = (np.unique(draw.integers(0, 9, (n, 3)), axis=0).reshape(-1, 3) for n in (own, others))
    mine = draw.permutation(mine)
    rows = np.array(
        [hull([tuple(one) for one in draw.integers(0, 9, (3, 3)).tolist()]) for _ in range(boxes)]
    )
    named = named_samples(rows, mine)
    assert named.tolist() == hull_oracle.named_samples(rows, mine).tolist()
    count = np.arange(0, boxes, 2 if some else 1)
    shares, errors = judged(rows, named, theirs, count)
    np.testing.assert_allclose(shares[:4], hull_oracle.share_right(rows[count], named[count], theirs))
    np.testing.assert_allclose(shares[4:], hull_oracle.share_of_samples(rows[count], named[count], theirs))
    np.testing.assert_allclose(errors, hull_oracle.errors_of(rows[count], named[count], theirs))


def test_the_partner_of_a_class_of_two_is_told_without_error() -> None:
    """Two people, a sample each in nearly every box: what is not mine is the partner's, exactly."""
    rows = [(who, 100 * n + 7 * who, n + 3 * who, 2 * n + 5 * who) for who in (0, 1) for n in range(20)]
    ids, t, x, y = zip(*((f"p{who}", *rest) for who, *rest in rows), strict=True)
    people = Trajectories.from_rows(list(ids), list(t), list(x), list(y), grid=Grid())
    release, linkage = naive_release(people, k=2, boxes_per_record=20)
    found = attack(people, release, linkage, knowledge=["insider"], rng=Randomness.for_research(1)).rates
    told = {one.name: one for one in found if one.target == "release"}
    assert told["insider-samples"].rate > 0.9
    assert told["insider-samples"].baseline < 0.1
    assert told["insider-samples"].error == Error(space_m=0.0, time_s=0.0)
    assert told["insider-samples"].to_json()["median_error_m"] == 0


@pytest.mark.jit_only
def test_a_partner_learns_more_in_a_class_of_two_than_one_of_five_does() -> None:
    people = random_people(60, 12, seed=3)
    two, five = rates(people, 2), rates(people, 5)
    one = "what a member of the class knows"
    assert two["insider-exact", one, "release"].rate > 0.3 > five["insider-exact", one, "release"].rate
    assert two["insider-exact", one, "release"].rate > two["insider-exact", one, "release"].baseline
    assert (
        two["insider-exact", one, "raw"].rate == two["downcoding-exact", "the release alone", "raw"].rate == 1
    )
    alone = two["downcoding-exact", "the release alone", "release"]
    assert alone.low > alone.baseline


@given(original=populations(), seed=st.integers(0, 500), slots=st.integers(1, 30))
def test_who_is_in_all_boxes_is_who_fits_them(original: Trajectories, seed: int, slots: int) -> None:
    draw = np.random.default_rng(seed)
    low, high = int(original.t.min()), int(original.t.max()) + 1
    cuts = np.unique(draw.integers(low - 2, high + 3, 6))
    boxes = [
        [a, b, *(int(c) for c in draw.integers(-3, 3, 2)), *(int(c) for c in draw.integers(2, 9, 2))]
        for a, b in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)
        if draw.random() < 0.7
    ]
    begin, end = int(cuts[0]), int(cuts[-1])
    asked, shares = np.arange(original.n_subjects), np.empty(original.n_subjects, dtype=np.bool_)
    offsets, t_of, x_of, y_of = map(read_only, (original.offsets, original.t, original.x, original.y))
    drawn = np.array(boxes, dtype=np.int64).reshape(-1, 6)
    find_sharers(Tracks(offsets, t_of, x_of, y_of), asked, drawn, begin, end, shares)
    expected = []
    for t, x, y in original:
        seen = [one for one in zip(t.tolist(), x.tolist(), y.tolist(), strict=True) if begin <= one[0] < end]
        rows = [tuple(box) for box in boxes]
        expected.append(bool(seen) and bool(rows) and is_candidate(rows, seen, begin, end - begin))
    assert shares.tolist() == expected


def of_hiders(people: Trajectories, method: KteHide) -> dict[tuple[str, str], Rate]:
    found = attack(
        people,
        *method.anonymize(people, Randomness.for_research(1)),
        knowledge=["insider", "insider:all"],
        rng=Randomness.for_research(1),
        scope=AttackScope(targets=["release"]),
    )
    return {(one.name, one.knowledge): one for one in found.rates}


@pytest.mark.jit_only
def test_whoever_hides_a_person_takes_the_own_samples_away() -> None:
    """Boxes of three: on an axis the person's sample is the middle one of them in a third of all."""
    found = of_hiders(bursts(7), KteHide(k=2, tau_s=600, epsilon_s=600))
    one, every = "what a hider of the record knows", "what all other hiders of the record know"
    together = found["insider-exact", every]
    assert together.low < (2 / 3) ** 3 < together.high
    assert found["insider-place", every].low < (2 / 3) ** 2 < found["insider-place", every].high
    assert found["insider-exact", one].low > found["insider-exact", one].baseline
    assert found["insider-exact", one].rate < together.rate


def test_where_hiders_stay_the_one_other_has_the_person_as_in_a_class_of_two() -> None:
    told = of_hiders(bursts(5), KteHide(k=2, tau_s=600, epsilon_s=600, hiders="stay"))
    found = told["insider-exact", "what a hider of the record knows"]
    assert found.rate > 0.9
    assert found.rule == "box by box"


@pytest.mark.jit_only
def test_boxes_of_a_coarse_grid_give_nothing_to_subtract() -> None:
    """Boxes that are no hulls: whoever reads their sides learns what guessing gives."""
    people = random_people(80, 12, seed=3, cells=40)
    release, linkage = naive_release(people, k=2, boxes_per_record=12)
    low, high = (np.column_stack([getattr(release.boxes, name) for name in names]) for names in SIDES)
    steps = np.array([200, 20, 20])
    low, high = low // steps * steps, -(-high // steps) * steps
    coarse = Boxes(**dict(zip((*SIDES[0], *SIDES[1]), [*low.T, *high.T], strict=True)))
    found = attack(
        people,
        replace(release, payload=coarse),
        linkage,
        knowledge=["insider", "downcoding"],
        rng=Randomness.for_research(1),
    )
    tried = [one for one in found.rates if one.target == "release" and one.name.endswith("exact")]
    assert len(tried) == 2
    assert all(one.low <= one.baseline < 0.01 for one in tried)


def test_outside_the_class_an_insider_has_luck_alone() -> None:
    people = random_people(60, 12, seed=3)
    control = rates(people, 2, suppress=10)["insider-exact", "what a member of the class knows", "control"]
    assert control.tries == 20
    assert control.rate < 0.02


@pytest.mark.parametrize("word", ["0", "-1", "some", "1.5"])
def test_a_number_of_members_is_a_number(word: str) -> None:
    with pytest.raises(MisuseError, match="write for example insider:4"):
        INSIDER.read([word])
