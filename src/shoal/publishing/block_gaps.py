"""The k-gap of people on disk: of some drawn at random, each among all people, who are looked at in tasks.

Whoever is among the nearest others of somebody is so in every smaller crowd that holds both. So each task
looks for them among the drawn and its own part of the people, and the nearest of what all tasks find are the
nearest of all: the figures are those that all people at once would give for the drawn.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

import numpy as np

from shoal.measures.k_gap import KGap, drawn_people, k_gaps, nearest_others, some_people
from shoal.model.people_on_disk import StoredPeople
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.run import Engine, Run, run_tasks, split_evenly
from shoal.utility.facts import KS

_LEAST: Final = 500  # people that are looked at together, whatever the size of a block
_LABEL: Final = "seeking the nearest others"
_DRAWN, _BELOW = "drawn.npy", "below.npy"


@dataclass(frozen=True, eq=False, kw_only=True)
class Nearest:
    """The nearest others of those drawn, found so far: [d, c] who, and at which effort, the nearest first."""

    who: Integers
    effort: Floats

    def joined(self, other: Self) -> "Nearest":
        """As many of both, which hold different people; of equals the first."""
        who = np.concatenate([self.who, other.who], axis=1)
        effort = np.concatenate([self.effort, other.effort], axis=1)
        order = np.lexsort((who, effort), axis=1)[:, : self.who.shape[1]]
        return Nearest(
            who=np.take_along_axis(who, order, axis=1), effort=np.take_along_axis(effort, order, axis=1)
        )


@dataclass(frozen=True, kw_only=True)
class NearTask:
    """People from first to before end, among whom others of those drawn are sought.

    people: their folder. folder: who is drawn, and which efforts are too large for each. count: how many
    others of each. threads: that the task may use.
    """

    people: Path
    folder: Path
    first: int
    end: int
    count: int
    threads: int


def nearest_in(task: NearTask) -> Nearest:
    """The nearest of the task's people to those drawn, as far as there are any."""
    people = StoredPeople.open(task.people)
    drawn, below = np.load(task.folder / _DRAWN), np.load(task.folder / _BELOW)
    together = np.union1d(drawn, np.arange(task.first, task.end))
    places = np.searchsorted(together, drawn)
    found, effort = nearest_others(
        people.load(together), task.count, places, below, Run(threads=task.threads)
    )
    who = np.append(together, people.n_subjects)[found]
    own = (task.first <= who) & (who < task.end)  # the others are found where they belong
    return Nearest(who=np.where(own, who, people.n_subjects), effort=np.where(own, effort, np.inf))


def gaps_of_stored(
    people: StoredPeople, k: int, part: int, scratch: Path, engine: Engine, run: Run
) -> tuple[KGap, ...]:
    """The k-gaps at k = 2, 5 and the claim's k, as far as there are so many people.

    part: how many people may be in memory with all their samples; with those drawn it is a fifth more.
    """
    n = people.n_subjects
    ks = [each for each in sorted({*KS, k}) if 2 <= each <= n]
    part = max(part, _LEAST)
    if n <= part:
        return tuple(k_gaps(people.load(np.arange(n)), ks, run=run, subjects=drawn_people(n)))
    drawn = people_drawn(n, k, part)
    np.save(scratch / _DRAWN, drawn)
    np.save(scratch / _BELOW, np.full(len(drawn), np.inf))
    threads = run.threads if isinstance(engine, Run) else 1
    begun, *tasks = (
        NearTask(
            people=people.folder, folder=scratch, first=first, end=end, count=max(ks) - 1, threads=threads
        )
        for first, end in split_evenly(n, part)
    )
    near = nearest_in(replace(begun, threads=run.threads))
    # nobody else is looked at beyond the last of these
    np.save(scratch / _BELOW, np.nextafter(near.effort[:, -1], np.inf))
    for found in run_tasks(nearest_in, tasks, engine, run, _LABEL):
        near = near.joined(found)
    together = np.union1d(drawn, near.who)
    gaps = k_gaps(
        people.load(together), ks, run=Run(threads=run.threads), subjects=np.searchsorted(together, drawn)
    )
    return tuple(replace(gap, subjects=drawn) for gap in gaps)


def people_drawn(n: int, k: int, part: int) -> Integers:
    """Ascending: those of n people whose k-gaps are found; k, part: as ``gaps_of_stored`` takes them."""
    part = max(part, _LEAST)
    drawn = drawn_people(n) if n <= part else some_people(n, part // max(*KS, k))
    return np.arange(n) if drawn is None else drawn
