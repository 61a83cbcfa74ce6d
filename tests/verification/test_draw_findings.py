"""What is counted of the draws of a shuffle, and of a run along streets: each number again, one by one."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise, permutations, product

import numpy as np
import pytest

from fair_shuffles import fair_draws
from shoal.model.trace import Trace
from shoal.runtime.arrays import Integers, read_only
from shoal.verification.points import tails
from shoal.verification.points.correlation import _NEAR, Comparison, Correlation, _p_values, compare_draws
from shoal.verification.points.draws import Draws, read_draws
from shoal.verification.points.shuffle import Fairness, Shuffle, judge_places
from shoal.verification.points.street_paths import SwapRun, list_path_questions
from shoal.verification.points.tails import agreement_moments, both_tails, bound_tails, log_mgf
from told_points import published, raw

pytestmark = pytest.mark.kernels

FAMILIES = 15
Series = list[list[Integers]]  # the draws of each group


def in_groups(draws: Draws, group: Integers, *, by_place: bool = False) -> Series:
    """The draws of each group, in time."""
    rows = draws.by_place if by_place else draws.by_person
    order = np.argsort(draws.t_s, kind="stable")
    return [list(rows[order[group[order] == one]]) for one in np.unique(group)]


def reverse_of(draw: Integers, draws: Draws) -> Integers:
    return np.argsort(draw) if draws.permutes else -draw % draws.c


def steps_of(own: list[Integers], draws: Draws) -> list[Integers]:
    """What leads from each draw to the next."""
    pairs = list(pairwise(own))
    if draws.permutes:
        return [other[np.argsort(here_box)] for here_box, other in pairs]
    return [(other - here_box) % draws.c for here_box, other in pairs]


def by_lag(runs: list[Draws], series: list[Series], words: str, *, mirrored: bool) -> Iterator[Comparison]:
    longest = max((len(one_group) for groups in series for one_group in groups), default=0)
    messages = []
    for lag in range(1, longest):
        same, counts = 0, []
        for draws, groups in zip(runs, series, strict=True):
            pairs = [pair for one_group in groups for pair in zip(one_group, one_group[lag:], strict=False)]
            counts.append(len(pairs))
            for earlier, later in pairs:
                same += int(((reverse_of(earlier, draws) if mirrored else earlier) == later).sum())
        moments = [agreement_moments(draws.c, permutes=draws.permutes) for draws in runs]
        expected = sum(m[0] * n for m, n in zip(moments, counts, strict=True))
        variance = sum(m[1] * n for m, n in zip(moments, counts, strict=True))
        (p,) = _p_values(runs, np.array([same]), [np.array([n]) for n in counts])
        z = (same - expected) / math.sqrt(variance)
        rank = float(p) * lag * (lag + 1)
        examined = words.format("" if lag == 1 else f"{lag} ")
        one = Comparison(words=examined, same=same, expected=expected, z=z, p_value=min(1.0, rank * FAMILIES))
        messages.append((rank, one))
    if messages:
        yield messages[0][1]
    if messages[1:]:
        yield min(messages[1:], key=lambda each: each[0])[1]


def of_pairs(runs: list[Draws], series: list[Series], words: str) -> Comparison:
    same, expected, variance, third = 0, 0.0, 0.0, 0.0
    for draws, groups in zip(runs, series, strict=True):
        mean, spread, cubed, of_three = agreement_moments(draws.c, permutes=draws.permutes)
        for one_group in groups:
            pairs = math.comb(len(one_group), 2)
            same += sum(
                int((one_group[a] == one_group[b]).sum()) for a in range(len(one_group)) for b in range(a)
            )
            expected += mean * pairs
            variance += spread * pairs
            third += cubed * pairs + 6 * of_three * math.comb(len(one_group), 3)
    if not variance:
        return Comparison(words=words, same=0, expected=0, z=0, p_value=1)
    z = (same - expected) / math.sqrt(variance)
    p = both_tails(z, third / variance**1.5)
    return Comparison(words=words, same=same, expected=expected, z=z, p_value=min(1.0, FAMILIES * p))


def again(runs: list[Draws]) -> Iterator[Comparison]:
    """All comparisons but that of points with where they came from."""
    of = "its cluster" if all(draws.permutes for draws in runs) else "its leader"
    by_group = [in_groups(draws, draws.group) for draws in runs]
    whole = [[list(draws.by_place)] if len(draws) else [] for draws in runs]
    for series, where in ((by_group, f"before of {of}"), (whole, "before in the run")):
        for mirrored, first in ((False, "the exchange {}"), (True, "the reverse of the exchange {}")):
            yield from by_lag(runs, series, first + where, mirrored=mirrored)
    steps = [[steps_of(item, draws) for item in groups] for draws, groups in zip(runs, by_group, strict=True)]
    yield of_pairs(runs, by_group, f"every other exchange of {of}")
    yield of_pairs(runs, steps, f"every other step from one exchange to the next of {of}")
    for by_place, suffix in ((False, ""), (True, ", place by place")):
        by_group = [in_groups(draws, draws.group, by_place=by_place) for draws in runs]
        numbers = [range(max(map(len, groups), default=0)) for groups in by_group]
        ordinal = [
            [[item[number] for item in groups if number < len(item)] for number in all_numbers]
            for groups, all_numbers in zip(by_group, numbers, strict=True)
        ]
        yield of_pairs(runs, ordinal, f"exchanges of the same number elsewhere{suffix}")
        together = [[[draw for item in groups for draw in item]] for groups in by_group]
        yield of_pairs(runs, together, f"every other exchange{suffix}")


def each_group_alone(runs: list[Draws]) -> dict[str, float]:
    """The chance of the least probable count in one group, each with its share of all those counted."""
    n_groups = sum(len(np.unique(draws.group)) for draws in runs)
    cluster = "of one cluster" if all(draws.permutes for draws in runs) else "of one leader"
    chances: dict[str, list[float]] = {
        f"where they came from, points {cluster}": [],
        f"each other, points of one person {cluster}": [],
        f"another exchange at some distance, points {cluster}": [],
        f"the reverse of another exchange at some distance, points {cluster}": [],
    }
    stayed, same_way, again, back = chances.values()

    def chance(c: int, same: int, pairs: int, *, permutes: bool) -> float:
        mean, spread, *_ = agreement_moments(c, permutes=permutes)
        if abs(same - mean * pairs) < _NEAR * math.sqrt(spread * pairs):
            return 1.0
        mgf = partial(log_mgf, c, permutes=permutes)
        return float(bound_tails(np.array([same]), [(np.array([pairs]), mgf)])[0])

    for draws in runs:
        c, permutes = draws.c, draws.permutes
        for own in in_groups(draws, draws.group, by_place=True):
            same = sum(int(place == at) for draw in own for at, place in enumerate(draw.tolist()))
            stayed.append(chance(c, same, len(own), permutes=permutes) * n_groups)
        for own in in_groups(draws, draws.group):
            for person, place in product(range(len(own[0])), range(c)):
                same = sum(int(draw[person] == place) for draw in own)
                whole = n_groups * c * len(own[0])
                same_way.append(chance(c, same, len(own), permutes=False) * whole)
            for lag in range(1, len(own)):
                pairs = list(zip(own, own[lag:], strict=False))
                for into, turn in ((again, False), (back, True)):
                    same = sum(
                        int(((reverse_of(one, draws) if turn else one) == other).sum())
                        for one, other in pairs
                    )
                    p = chance(c, same, len(pairs), permutes=permutes)
                    into.append(p * n_groups * lag * (lag + 1))
    return {words: min([1.0, *(FAMILIES * p for p in of)]) for words, of in chances.items()}


def repeating(draws: Draws, rng: np.random.Generator) -> Draws:
    """Every third draw as one before; groups, times and places of their own."""
    rows = draws.by_person.copy()
    rows[2::3] = rows[: len(rows[2::3])]
    order = rng.permutation(len(draws))
    return replace(
        draws, by_person=rows[order], by_place=rows, group=draws.group[order], t_s=rng.random(len(draws))
    )


RUNS = [
    ([(3, [1, 5, 9])], True),
    ([(2, [4]), (4, [2, 30])], True),
    ([(2, [40]), (3, [])], True),
    ([(3, [2, 2, 2])], True),
    ([(3, [7, 0, 8])], False),
    ([(2, [1, 40, 8]), (5, [16, 3])], False),
    ([(3, [1, 1])], True),
]  # fmt: skip


@pytest.mark.parametrize(("sizes", "permutes"), RUNS, ids=str)
def test_every_comparison_of_draws_is_counted_one_by_one(
    sizes: list[tuple[int, list[int]]], permutes: bool
) -> None:
    rng = np.random.default_rng(4)
    runs = [repeating(fair_draws(rng, c, lengths, permutes=permutes), rng) for c, lengths in sizes]
    correlation = compare_draws(runs)
    told = {comparison.words: comparison for comparison in correlation.comparisons[1:-4]}
    by_group = {comparison.words: comparison.p_value for comparison in correlation.comparisons[-4:]}
    assert by_group == pytest.approx(each_group_alone(runs))
    expected = {comparison.words: comparison for comparison in again(runs)}
    assert list(told) == sorted(expected, key=list(told).index)
    for words, one in expected.items():
        assert told[words].same == one.same, words
        assert told[words].expected == pytest.approx(one.expected), words
        assert (told[words].z, told[words].p_value) == pytest.approx((one.z, one.p_value)), words
    stayed = sum(int((draws.by_place == np.arange(draws.by_place.shape[1])).sum()) for draws in runs)
    assert correlation.stayed.same == correlation.comparisons[0].same == stayed
    assert correlation.worst.p_value == min(comparison.p_value for comparison in correlation.comparisons)
    assert expected


def one_alone(draws: Draws, group: int, draw: Callable[[int], list[int]]) -> Draws:
    """The same draws, but for those of one group, where the n-th is ``draw(n)``."""
    rows, places = draws.by_person.copy(), draws.by_place.copy()
    of_group = np.flatnonzero(draws.group == group)
    for n, row in enumerate(of_group.tolist()):
        rows[row] = places[row] = draw(n)
    return replace(draws, by_person=rows, by_place=places)


FORGED: dict[str, Callable[[int], list[int]]] = {
    "nothing moved": lambda _: [0, 1, 2],
    "all records went round": lambda _: [1, 2, 0],
    "one person stayed": lambda n: [0, 1, 2] if n * n % 5 % 2 else [0, 2, 1],
    "one person stayed in another's record": lambda n: [2, 1, 0] if n * n % 5 % 2 else [2, 0, 1],
    "in turn": lambda n: [[0, 1, 2], [1, 2, 0]][n % 2],
    "one set of seven was not forged": lambda n: [2, 1, 0] if n % 7 == 3 else [0, 1, 2],
}


@pytest.mark.parametrize("name", FORGED)
def test_one_cluster_in_a_hundred_is_looked_at_alone(name: str) -> None:
    """Its three people would be published whole; in the sum over all it does not show."""
    fair = fair_draws(np.random.default_rng(6), 3, [25] * 100)
    assert compare_draws([fair]).worst.p_value > 5e-7
    worst = compare_draws([one_alone(fair, 41, FORGED[name])]).worst
    assert worst.p_value < 5e-7
    assert worst.words.endswith("of one cluster")


def test_one_leader_in_a_hundred_is_looked_at_alone() -> None:
    fair = fair_draws(np.random.default_rng(6), 3, [30] * 100, permutes=False)
    assert compare_draws([fair]).worst.p_value > 5e-7
    for choice in (lambda _: [0], lambda _: [2], lambda n: [n % 2]):
        worst = compare_draws([one_alone(fair, 41, choice)]).worst
        assert worst.p_value < 5e-7
        assert worst.words.endswith("of one leader")


@pytest.mark.parametrize(("c", "n", "permutes"), [(3, 5, True), (4, 6, False)])
def test_the_chance_that_all_draws_are_alike_follows_from_all_runs_there_are(
    c: int, n: int, permutes: bool
) -> None:
    """Mean, variance and skewness of the points that agree in all pairs of n draws."""
    every = np.array(list(permutations(range(c)) if permutes else [(i,) for i in range(c)]))
    run = np.array(list(product(range(len(every)), repeat=n)))
    same = sum((every[run[:, a]] == every[run[:, b]]).sum(axis=1) for a in range(n) for b in range(a))
    away = same - np.mean(same)
    spread = np.mean(away**2)
    rows = np.repeat(every[-1:], n, axis=0)
    draws = Draws(c=c, by_place=rows, by_person=rows, group=np.zeros(n, dtype=int), t_s=np.arange(float(n)))
    (one,) = (
        comparison
        for comparison in compare_draws([draws]).comparisons
        if comparison.words == "every other exchange"
    )
    assert one.z == pytest.approx(np.max(away) / math.sqrt(spread))
    assert one.p_value == pytest.approx(FAMILIES * both_tails(one.z, np.mean(away**3) / spread**1.5))


@pytest.mark.parametrize(("n", "p"), [(8, 1.0), (9, FAMILIES * 2 * 2**-9), (12, FAMILIES * 2 * 2**-12)])
def test_a_chance_is_bounded_from_three_standard_deviations_on(n: int, p: float) -> None:
    """n pairs that all stayed: z is the root of n; Chernoff's bound of all heads is their chance."""
    rows = np.tile(np.arange(2), (n, 1))
    draws = Draws(c=2, by_place=rows, by_person=rows, group=np.arange(n), t_s=np.arange(float(n)))
    stayed = compare_draws([draws]).stayed
    assert (stayed.same, stayed.expected) == (2 * n, n)
    assert stayed.z == pytest.approx(math.sqrt(n))
    assert stayed.p_value == pytest.approx(p, rel=0.01)
    assert _NEAR == 3


@pytest.mark.parametrize(
    ("places", "draws", "kinds"),
    [
        (5e-7, 5e-7, []),
        (4.9e-7, 5e-7, ["biased-shuffle"]),
        (5e-7, 4.9e-7, ["correlated-shuffle"]),
        (4.9e-7, 4.9e-7, ["biased-shuffle", "correlated-shuffle"]),
    ],
)
def test_half_of_one_in_a_million_is_the_chance_of_either_alarm(
    places: float, draws: float, kinds: list[str]
) -> None:
    messages = [
        Comparison(words=words, same=9, expected=5, z=2, p_value=p)
        for words, p in (("it", 1.0), ("that", draws))
    ]
    correlation = Correlation(
        comparisons=tuple(messages),
        before=messages[0],
        stayed=messages[0],
        log_chance_of_none=math.log(5e-7 / 30),
    )
    shuffle = Shuffle(points=8, stayed=3, expected=4.0, p_value=places)
    fairness = Fairness(shuffle=shuffle, correlation=correlation)
    found = list(fairness.findings())
    assert [finding.kind for finding in found] == kinds
    assert all(
        finding.message.endswith("a fair shuffle does this once in 1,000,000 releases") for finding in found
    )
    assert all(
        "compared with that, 9 points" in finding.message for finding in found if "corr" in finding.kind
    )
    less, more = (
        replace(correlation, log_chance_of_none=math.log(5e-7 / 30 * by)) for by in (1 - 1e-9, 1 + 1e-9)
    )
    enough = [replace(fairness, correlation=finding).enough for finding in (less, more)]
    assert enough == [True, False]


def test_choices_among_three_have_two_degrees_of_freedom() -> None:
    """Of 15 leaders 9 keep their place, and 3 take that of either of the others; 5 each are expected."""
    n, took = 15, np.repeat([0, 1, 2], [9, 3, 3])
    walks = [[(100.0 * i + who, float(i), float(who)) for i in range(n)] for who in range(3)]
    rows, places = np.arange(3 * n), np.arange(3 * n)
    places[:n], places[took * n + np.arange(n)] = took * n + np.arange(n), np.arange(n)
    trace = Trace(
        time_from=rows,
        place_from=places,
        swap_set=rows % n,
        set_offsets=3 * np.arange(n + 1),
        set_rows=rows.reshape(3, n).T.ravel(),
        place_of=(),
    )
    examined = judge_places(read_draws(raw(walks), published(walks), np.arange(3), trace, times_stay=True))
    assert (examined.points, examined.stayed, examined.expected) == (n, 9, 5)
    assert examined.p_value == pytest.approx(math.exp(-(4**2 + 2**2 + 2**2) / 5 / 2))


def test_chances_are_bounded_in_batches_as_they_are_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    same, pairs = np.arange(10), np.arange(10, 20)
    of_size = [(pairs, lambda theta: log_mgf(3, theta, permutes=False))]
    at_once = bound_tails(same, of_size)
    for numbers in (1, 800, 1600):
        monkeypatch.setattr(tails, "_AT_ONCE", numbers)
        np.testing.assert_array_equal(bound_tails(same, of_size), at_once)


# --- the questions of a run along streets -------------------------------------------------------------------


def asked_one_by_one(
    sets: list[list[int]], took: list[int], owner: Integers, on: Integers, published: Integers, both: bool
) -> list[tuple[int, int, int]]:
    """(start, goal, set): each leader to each member, and the neighbors of both to the other one."""
    place = list(range(len(owner)))
    asked = []
    for number, (leader, *members) in enumerate(sets):
        for member in members:
            asked.append((leader, member, number))
            for row, other in ((leader, member), (member, leader))[: 1 + both]:
                one_group = [at for at in np.flatnonzero(owner == owner[row]).tolist() if on[at]]
                before = [at for at in one_group if at < row and (row == member or published[at])]
                people_behind = [at for at in one_group if at > row]
                asked += [(place[at], other, number) for at in (*before[-1:], *people_behind[:1])]
        place[leader], place[took[number]] = place[took[number]], place[leader]
    return asked


def test_the_paths_that_a_run_had_to_find_short_are_all_asked_for() -> None:
    draw = np.random.default_rng(3)
    n_asked = 0
    for _ in range(60):
        lengths = draw.integers(1, 6, 4)
        owner, offsets = np.repeat(np.arange(4), lengths), np.concatenate([[0], np.cumsum(lengths)])
        n = len(owner)
        on, published = draw.random((2, n)) < 0.7
        # nobody trades twice, but anybody may be in several sets
        free = draw.permutation(n).tolist()
        rows, took = [], []
        for _ in range(draw.integers(1, 4)):
            if len(free) > 1:
                leader, follower = free.pop(), free.pop()
                others = np.setdiff1d(draw.integers(0, n, 2), [leader, follower]).tolist()
                rows.append([leader, follower, *others])
                took.append(follower if draw.random() < 0.6 else leader)
        if not rows:
            continue
        both = bool(draw.random() < 0.5)
        start, goal, set_of = (np.empty(5 * sum(map(len, rows)), dtype=np.int64) for _ in range(3))
        count = list_path_questions(
            SwapRun(
                read_only(np.cumsum([0, *map(len, rows)], dtype=np.int64)),
                read_only(np.concatenate(rows).astype(np.int64)),
                np.array(took),
                read_only(offsets),
                owner,
                on,
                published,
            ),
            both,
            start,
            goal,
            set_of,
        )
        asked = list(zip(start[:count].tolist(), goal[:count].tolist(), set_of[:count].tolist(), strict=True))
        assert asked == asked_one_by_one(rows, took, owner, on, published, both)
        n_asked += count
    assert n_asked > 300
