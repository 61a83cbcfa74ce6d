"""The count that answers a question, from the places that are similar to the question's points."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shoal_collect.matching.contributors import people_among
from shoal_collect.matching.similarity import occurrences, occurs

CAP: Final = 16  # larger answers say no more than "at least 16"
NOBODY: Final = 0  # the contributor of a record that counts as no person


@dataclass(frozen=True)
class Count:
    """Who shares a sub-trajectory.

    Attributes
    ----------
    people
        Distinct contributors with a similar sub-trajectory; where tags are scoped, at most so many.
    bootstrap
        Records of nobody with one.
    occurrences
        Similar sub-trajectories, which is the paper's phi.
    """

    people: int
    bootstrap: int
    occurrences: int


Places = dict[tuple[int, int], list[int]]  # (record, contributor) -> positions in the record


def combine(found: Sequence[Places]) -> Count:
    """Count a query from the places that are similar to each of its points."""
    people, bootstrap, total = set(), 0, 0
    for key in set(found[0]).intersection(*found[1:]):
        lists = [sorted(places[key]) for places in found]
        if occurs(lists):
            total += occurrences(lists)
            if key[1] == NOBODY:
                bootstrap += 1
            else:
                people.add(key[1])
    return Count(people_among(people), bootstrap, total)
