"""The count that answers a question, from the places similar to the question's points."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shoal_collect.matching.contributors import count_people
from shoal_collect.matching.similarity import occurrences, occurs

CAP: Final = 16  # larger answers say no more than "at least 16"
NOBODY: Final = 0  # the contributor of a record that counts as no person


@dataclass(frozen=True)
class Count:
    """The people who share a sub-trajectory.

    ``people``: an upper bound where tags are scoped. ``bootstrap``: similar bootstrap records, of no person.
    ``occurrences``: similar sub-trajectories, the paper's phi.
    """

    people: int
    bootstrap: int
    occurrences: int


Places = dict[tuple[int, int], list[int]]  # (record, contributor) -> positions in the record


def combine_places(places_by_point: Sequence[Places]) -> Count:
    """Count a query from the places similar to each of its points."""
    people, bootstrap, total = set(), 0, 0
    for key in set(places_by_point[0]).intersection(*places_by_point[1:]):
        lists = [sorted(places[key]) for places in places_by_point]
        if occurs(lists):
            total += occurrences(lists)
            if key[1] == NOBODY:
                bootstrap += 1
            else:
                people.add(key[1])
    return Count(count_people(people), bootstrap, total)
