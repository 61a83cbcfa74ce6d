"""The k-gap of people on disk: of some drawn at random, each among all people, who are looked at in parts.

Whoever is among the nearest others of somebody is so in every smaller crowd that holds both. So each part is
searched together with the drawn and with the nearest found so far, and at the end the nearest of all are
known: the figures are those that all people at once would give for the drawn.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from shoal.measures.k_gap import KGap, drawn_people, k_gaps, nearest_others, some_people
from shoal.model.people_on_disk import StoredPeople
from shoal.runtime.arrays import Integers
from shoal.runtime.run import Run
from shoal.utility.facts import KS

_LEAST: Final = 500  # people that are looked at together, whatever the size of a block
_LABEL: Final = "seeking the nearest others"


def gaps_of_stored(people: StoredPeople, k: int, part: int, run: Run) -> tuple[KGap, ...]:
    """The k-gaps at k = 2, 5 and the claim's k, as far as there are so many people.

    part: how many people may be in memory with all their samples; at times it is twice as many.
    """
    n = people.n_subjects
    ks = [each for each in sorted({*KS, k}) if 2 <= each <= n]
    part = max(part, _LEAST)
    if n <= part:
        return tuple(k_gaps(people.load(np.arange(n)), ks, run=run, subjects=drawn_people(n)))
    quiet = Run(threads=run.threads)
    drawn = near = people_drawn(n, k, part)
    parts = np.array_split(np.arange(n), -(-n // part))
    for done, own in enumerate(parts):
        run.progress(_LABEL, done, len(parts))
        together = np.union1d(np.union1d(drawn, near), own)
        rows = np.searchsorted(together, drawn)
        found = nearest_others(people.load(together), max(ks) - 1, rows, quiet)
        near = together[np.unique(found)]
    run.progress(_LABEL, len(parts), len(parts))
    together = np.union1d(drawn, near)
    gaps = k_gaps(people.load(together), ks, run=quiet, subjects=np.searchsorted(together, drawn))
    return tuple(replace(gap, subjects=drawn) for gap in gaps)


def people_drawn(n: int, k: int, part: int) -> Integers:
    """Ascending: those of n people whose k-gaps are found; k, part: as ``gaps_of_stored`` takes them."""
    part = max(part, _LEAST)
    drawn = drawn_people(n) if n <= part else some_people(n, part // max(*KS, k))
    return np.arange(n) if drawn is None else drawn
