"""Hiders that stay: k records hold everybody all along, each could be the own one, and which one is drawn."""

from collections import Counter
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from measure_hiders import Period, attacked, narrowed, ways
from naive_release import boxes_from, small_city, stating
from shoal.methods.assembly import EquivalenceClass, assemble
from shoal.methods.kte_hide.hiding_sets import Window
from shoal.methods.kte_hide.kte_hide import draw_owners
from shoal.model.claims import KteAnonymity
from shoal.model.grid import Grid
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness

pytestmark = pytest.mark.kernels

CLAIM = KteAnonymity(k=2, tau_s=1800, epsilon_s=1800, hiders_stay=True)


def cell(x: int) -> tuple[int, ...]:
    return 0, 1, x, 0, x + 1, 1


def release_of(holds: list[set[int]]) -> tuple[Trajectories, shoal.Release, shoal.Linkage]:
    """Record i is person i's; its one box reaches from the first to the last of the people it holds.

    Everybody has one sample in slot 0, at a cell of the own number.
    """
    n = len(holds)
    people = Trajectories.from_rows([f"p{i}" for i in range(n)], [0] * n, range(n), [0] * n, grid=Grid())
    classes = [
        EquivalenceClass(members=np.array([i]), boxes=boxes_from([(0, 1, min(held), 0, max(held) + 1, 1)]))
        for i, held in enumerate(holds)
    ]
    release, linkage = assemble(people, classes, stating(CLAIM, "kte-hide"), Randomness.from_system())
    return people, release, linkage


def owners_by_hand(holds: list[set[int]]) -> list[int]:
    """How many records each person has in some pairing of everybody with a record that holds them."""
    n = len(holds)
    could = [set() for _ in range(n)]  # type: list[set[int]]
    for records in permutations(range(n)):
        if all(person in holds[record] for person, record in enumerate(records)):
            for person, record in enumerate(records):
                could[person].add(record)
    return [len(records) for records in could]


@given(
    st.integers(2, 6).flatmap(
        lambda n: st.lists(st.tuples(*[st.integers(0, n - 1)] * 2), min_size=n, max_size=n)
    )
)
def test_the_verifier_counts_the_records_that_some_pairing_gives_a_person(
    ends: list[tuple[int, int]],
) -> None:
    holds = [set(range(min(i, *pair), max(i, *pair) + 1)) for i, pair in enumerate(ends)]
    people, release, linkage = release_of(holds)
    wrong = {uid for uid, count in zip(people.ids, owners_by_hand(holds), strict=True) if count < 2}
    uid_of = dict(zip(linkage.trajectory_ids, linkage.uids, strict=True))
    found = [
        each for each in shoal.verify(people, release, linkage).findings if each.kind == "too-few-owners"
    ]
    assert {uid_of[str(each.trajectory_id)] for each in found} == wrong


def test_a_record_that_fits_but_that_no_pairing_gives_does_not_count() -> None:
    """Two records hold person 1, but the other one is the only one that holds person 0."""
    people, release, linkage = release_of([{0, 1}, {1, 2}, {1, 2}])
    assert owners_by_hand([{0, 1}, {1, 2}, {1, 2}]) == [1, 2, 2]
    verdict = shoal.verify(people, release, linkage)
    assert [each.kind for each in verdict.findings if each.kind == "too-few-owners"] == ["too-few-owners"]


@pytest.mark.jit_only
@pytest.mark.parametrize("k", [2, 3, 4])
def test_a_release_holds_and_no_larger_k_does(k: int) -> None:
    original = shoal.read(shoal.synthesize(40, 2, 1, layout="city"))
    release, linkage = shoal.KteHide(k=k, hiders="stay").anonymize(original, Randomness.from_system())
    assert release.claim.name == f"k-concealment, k = {k}"
    assert shoal.verify(original, release, linkage).holds
    more = replace(release, claim=replace(CLAIM, k=k + 3))
    assert "too-few-owners" in shoal.verify(original, more, linkage).kinds


def test_changing_hiders_do_not_keep_the_claim_of_staying_ones() -> None:
    original = small_city()
    release, linkage = shoal.KteHide(k=2, tau_s=4 * 3600, epsilon_s=4 * 3600).anonymize(
        original, Randomness.from_system()
    )
    stays = replace(release, claim=replace(CLAIM, tau_s=4 * 3600, epsilon_s=4 * 3600))
    assert "too-few-owners" in shoal.verify(original, stays, linkage).kinds


def test_each_of_the_records_of_a_person_is_the_own_one_equally_often() -> None:
    """Whoever runs the method again on all raw data knows every record, and still has 1 chance in k."""
    n, draws = 12, 900
    hiders = np.stack([np.roll(np.arange(n), -1), np.roll(np.arange(n), -2)], axis=1)
    window = Window(subjects=np.arange(n), table=np.zeros((n, 1), dtype=np.int64), hiders=hiders)
    seats = [EquivalenceClass(members=np.array([i]), boxes=boxes_from([cell(i)])) for i in range(n)]
    rng = Randomness.for_research(5)
    seat_of_first: Counter[int] = Counter()
    for _ in range(draws):
        drawn = draw_owners(seats, [window], rng)
        owners = [int(each.members[0]) for each in drawn]
        assert sorted(owners) == list(range(n))
        assert all(owners[seat] in {seat, *hiders[seat].tolist()} for seat in range(n))
        seat_of_first[owners.index(0)] += 1
    assert set(seat_of_first) == {0, n - 1, n - 2}
    # five standard deviations
    assert max(abs(count - draws / 3) for count in seat_of_first.values()) < 5 * (draws * 2 / 9) ** 0.5


def test_people_who_do_not_hide_each_other_are_drawn_apart() -> None:
    n = 40
    pairs = (np.arange(n) ^ 1)[:, None]
    window = Window(subjects=np.arange(n), table=np.zeros((n, 1), dtype=np.int64), hiders=pairs)
    seats = [EquivalenceClass(members=np.array([i]), boxes=boxes_from([cell(i)])) for i in range(n)]
    drawn = draw_owners(seats, [window], Randomness.for_research(1))
    swapped = [int(each.members[0]) != seat for seat, each in enumerate(drawn)]
    assert swapped[::2] == swapped[1::2]
    assert 4 <= sum(swapped[::2]) <= 16


@pytest.mark.jit_only
def test_the_densest_record_names_the_owner_of_changing_hiders_and_not_of_staying_ones() -> None:
    """The short run of what docs/kte-hide.md shows."""
    original = shoal.read(shoal.synthesize(80, 1, 1, layout="city"))
    every = ways(2, 1800, 1, original)
    rates = {}
    for name in ("hiders change, one pseudonym", "hiders stay, one pseudonym"):
        periods: list[Period] = every[name](original)
        rates[name] = attacked(periods, 30, 180, 100, np.random.default_rng(1))[0]
    assert rates["hiders change, one pseudonym"] > 0.65
    assert rates["hiders stay, one pseudonym"] < 0.65


def test_all_records_of_a_person_together_say_more_than_the_own_one() -> None:
    original = shoal.read(shoal.synthesize(40, 1, 1, layout="city"))
    (period,) = ways(3, 1800, 1, original)["hiders stay, one pseudonym"](original)
    cells, slots, cells_shared, slots_shared = narrowed(period, 20, np.random.default_rng(1))
    assert cells_shared < cells
    assert slots_shared < slots
