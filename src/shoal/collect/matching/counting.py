"""What a question about a sub-trajectory is answered with, and how places that are similar to its points add up."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shoal.collect.matching.similarity import occurrences, occurs

CAP: Final = 16  # answers above say no more than "at least 16"
NOBODY: Final = 0  # the contributor of a record that counts as no person


@dataclass(frozen=True)
class Count:
    """people: distinct contributors with a similar sub-trajectory. bootstrap: records of nobody.

    occurrences: the paper's phi.
    """

    people: int
    bootstrap: int
    occurrences: int

    @property
    def capped(self) -> int:
        """What an answer says."""
        return min(self.people, CAP)


Places = dict[tuple[int, int], list[int]]  # (record, contributor) -> positions in the record


def combine(found: Sequence[Places]) -> Count:
    """The count of a query from the places that are similar to each of its points."""
    people, bootstrap, total = set(), 0, 0
    for key in set(found[0]).intersection(*found[1:]):
        lists = [sorted(places[key]) for places in found]
        if occurs(lists):
            total += occurrences(lists)
            if key[1] == NOBODY:
                bootstrap += 1
            else:
                people.add(key[1])
    return Count(len(people), bootstrap, total)
