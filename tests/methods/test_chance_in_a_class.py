"""1 in k for whoever knows all raw data, the method and everything in the release folder (docs/glove.md).

Records of a class are equal, so all that could tell them apart is the order of records, their pseudonyms, and
what else is published beside them. An adversary reruns GLOVE, knows every class and guesses within it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import permutations
from math import factorial
from typing import Any

import numpy as np
import pytest

import shoal
from exchanged_links import classes_of, exchanged
from naive_release import small_city
from shoal.methods.assembly import assemble, unrelated_order
from shoal.methods.hulls import round_outward
from shoal.report.facts.evidence import Evidence
from shoal.report.pages.record import record_page
from shoal.runtime.randomness import Randomness
from shoal.utility import Facts

pytestmark = pytest.mark.kernels

K = 3
GLOVE = shoal.Glove(k=K)


RULES: dict[str, Callable[[list[str], list[int]], Sequence[int]]] = {
    "order of records": lambda _names, members: members,
    "order of records, backward": lambda _names, members: members[::-1],
    "order of pseudonyms": lambda names, members: [members[i] for i in np.argsort(np.argsort(names))],
    "first pseudonym modulo k": lambda names, members: np.roll(
        members, int(names[0], 16) % len(members)
    ).tolist(),
}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"hull": "outward:3"},
        {"refine": True},
        {"omit_at_most": 0.2},
        {"suppress_space_m": 12_000.0},
        {"leftover": "suppress"},
    ],
    ids=str,
)
def test_who_knows_all_raw_data_names_one_in_k(settings: dict[str, Any]) -> None:
    """Each rule gives the records of a class, in the order of the file, to its members."""
    original, draws, rng = small_city(), 60, Randomness.for_research(2)
    method = replace(GLOVE, **settings)
    classes = method.classes(original, shoal.Run())
    won = dict.fromkeys(RULES, 0)
    expected = tries = 0.0
    for _ in range(draws):
        boxed = list(round_outward(classes, method.hull, original, rng))
        release, linkage = assemble(original, boxed, method, rng)
        uid_of = dict(zip(linkage.trajectory_ids, linkage.uids, strict=True))
        place_of = {uid: place for place, uid in enumerate(original.ids)}
        truth = [place_of[uid_of[name]] for name in release.trajectory_ids]
        for each in classes:
            members = each.members.tolist()
            rows = [row for row, person in enumerate(truth) if person in set(members)]
            names = [release.trajectory_ids[row] for row in rows]
            for name, rule in RULES.items():
                won[name] += sum(
                    truth[row] == guess for row, guess in zip(rows, rule(names, members), strict=True)
                )
            tries += len(members)
            expected += 1.0
    # in a class of c the number right has mean 1 and variance 1, whatever the rule; five standard deviations
    assert tries / expected >= K
    assert max(abs(count - expected) for count in won.values()) < 5 * expected**0.5


@pytest.mark.jit_only
def test_nothing_that_is_published_depends_on_who_has_which_record_of_a_class() -> None:
    """The page with its measured rates and losses is that of every linkage."""
    original = small_city()
    release, linkage = GLOVE.anonymize(original, Randomness.for_research(4))
    classes = classes_of(original, release, linkage)
    assert min(len(members) for members in classes) >= K
    verdict = shoal.verify(original, release, linkage)
    rng = np.random.default_rng(1)
    pages = set()
    for other in (linkage, *(exchanged(linkage, classes, rng) for _ in range(1))):
        pages.add(record_page(Evidence(Facts(original, release, other), tries=10), verdict))
    assert len(pages) == 1


class Dealt:
    """Randomness that deals one order, and no second one."""

    def __init__(self, order: Sequence[int]) -> None:
        self.left = [np.array(order)]

    def permutation(self, n: int) -> np.ndarray:
        assert n == len(self.left[0])
        return self.left.pop()


def orders_published(class_of: Sequence[int], rank: np.ndarray) -> list[tuple[int, ...]]:
    """All orders of records, as places of people, that are not drawn again."""
    people, found = np.arange(len(class_of)), []
    for order in permutations(range(len(class_of))):
        try:
            found.append(tuple(unrelated_order(people, np.array(class_of), rank, Dealt(order)).tolist()))  # type: ignore[arg-type]
        except IndexError:
            continue  # another one would be drawn
    return found


@pytest.mark.parametrize("class_of", [[0, 0, 1, 1], [0, 1, 0, 1, 1], [0, 0, 1, 1, 2, 2], [0, 1, 1, 0, 1, 0]])
def test_whatever_order_of_classes_is_seen_everybody_in_a_class_is_as_likely(class_of: list[int]) -> None:
    """If single orders were drawn again, a of {a, b}, {c, d} would have the first record in 1 of 3."""
    n = len(class_of)
    rank = np.random.default_rng(n).permutation(n)
    own = np.array(class_of)
    seen: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for order in orders_published(class_of, rank):
        seen.setdefault(tuple(own[list(order)].tolist()), []).append(order)
    assert 1 <= len(seen) < factorial(n)
    for kinds, orders in seen.items():
        had = np.array([np.bincount(people, minlength=n) for people in np.array(orders).T]) / len(orders)
        for record, kind in enumerate(kinds):
            members = np.flatnonzero(own == kind)
            assert had[record, members] == pytest.approx(np.full(len(members), 1 / len(members)))
    for told in (np.arange(n), np.argsort(rank)):
        assert not {tuple(own[told].tolist()), tuple(own[told[::-1]].tolist())} & seen.keys()


@pytest.mark.parametrize("n", [4, 5, 6])
def test_of_one_class_alone_four_orders_are_never_published(n: int) -> None:
    """Orders of ids and of the input, and both backward, are drawn again: n! / (n! - 4) of 1/k at most."""
    rank = np.random.default_rng(n).permutation(n)
    never = {tuple(np.argsort(rank).tolist()), tuple(range(n))}
    never |= {order[::-1] for order in never}
    for class_of in ([0] * n, [0] * (n - 1) + [1], list(range(n))):
        drawn = orders_published(class_of, rank)
        assert set(drawn) == set(permutations(range(n))) - never
    first = np.bincount([order[0] for order in drawn], minlength=n) / len(drawn)
    assert first.max() <= factorial(n) / (factorial(n) - 4) / n + 1e-12


def test_a_class_of_all_four_people_is_named_more_often_than_one_in_four() -> None:
    """By hand: of 24 orders, 22 are published, and 6 of them begin with each of the two in the middle."""
    orders = [order for order in permutations(range(4)) if order not in {(0, 1, 2, 3), (3, 2, 1, 0)}]
    assert [sum(order[0] == who for order in orders) for who in range(4)] == [5, 6, 6, 5]
