"""Who may appear: against sets of people, over every set of releases, for random arrivals and leavers."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from example_counts import examples
from shoal.series.attendance import count_companions, may_appear, with_release

K = 2


def crowds_of(release: dict[int, int]) -> dict[int, frozenset[int]]:
    """Each published person's crowd, as a set of people."""
    return {
        person: frozenset(other for other, number in release.items() if number == crowd)
        for person, crowd in release.items()
    }


def least_in_common(releases: list[dict[int, int]]) -> int:
    """The fewest people in the intersection of somebody's crowds over any releases in which she appears."""
    crowds = [crowds_of(release) for release in releases]
    people = {person for release in releases for person in release}
    return min(
        (
            len(frozenset.intersection(*some))
            for person in people
            for places in [[crowd[person] for crowd in crowds if person in crowd]]
            for size in range(1, len(places) + 1)
            for some in combinations(places, size)
        ),
        default=K,
    )


def largest_by_trying(releases: list[dict[int, int]], crowd: dict[int, int], present: set[int]) -> set[int]:
    """The largest set of present people that keeps the promise, of one crowd, from all sets."""
    for size in range(len(present), 0, -1):
        for some in combinations(sorted(present), size):
            if least_in_common([*releases, {person: crowd[person] for person in some}]) >= K:
                return set(some)
    return set()


@examples(1)
@given(
    crowd=st.lists(st.integers(0, 1), min_size=2, max_size=7),
    weeks=st.lists(st.sets(st.integers(0, 6)), min_size=1, max_size=5),
)
def test_every_person_keeps_k_companions_and_as_many_appear_as_can(
    crowd: list[int], weeks: list[set[int]]
) -> None:
    people = np.array(crowd)
    attended = np.zeros((len(crowd), 1), dtype=np.uint64)
    releases: list[dict[int, int]] = []
    for week, came in enumerate(weeks):
        present = np.array(sorted(person for person in came if person < len(crowd)), dtype=np.int64)
        appears = np.zeros(len(crowd), dtype=bool)
        appears[present] = may_appear(people[present], attended[present], K)
        for number in set(crowd):
            of_crowd = {person for person in present.tolist() if crowd[person] == number}
            best = largest_by_trying(releases, dict(enumerate(crowd)), of_crowd)
            assert {person for person in of_crowd if appears[person]} == best
        attended = with_release(attended, appears, week)
        releases.append({person: crowd[person] for person in np.flatnonzero(appears).tolist()})
        assert least_in_common(releases) >= K
    appeared = attended.any(axis=1)
    companions = count_companions(people, attended)
    in_common = [
        len(frozenset.intersection(*(of[person] for of in map(crowds_of, releases) if person in of)))
        for person in np.flatnonzero(appeared).tolist()
    ]
    assert companions[appeared].tolist() == in_common


def test_joining_another_crowd_mends_none() -> None:
    """Why a crowd below k waits: four of five, then with five others, are four over both releases."""
    first = {person: person // 5 for person in range(10)}
    second = {person: 0 for person in range(10) if person != 4}
    assert {len(crowds_of(first)[person] & crowds_of(second)[person]) for person in range(4)} == {4}


def test_there_may_be_more_releases_than_bits_in_a_number() -> None:
    attended = np.zeros((4, 1), dtype=np.uint64)
    crowd = np.zeros(4, dtype=np.int64)
    for week in range(130):
        appears = np.array([True, True, week != 128, week < 129])
        attended = with_release(attended, appears, week)
    assert attended.shape == (4, 3)
    assert count_companions(crowd, attended).tolist() == [2, 2, 3, 3]
    assert may_appear(crowd, attended, 2).tolist() == [True] * 4
    assert may_appear(crowd[1:], attended[1:], 2).tolist() == [False] * 3  # each missed another release
