"""Who vanished of people in blocks: exact, in tasks, as every person counts in one of them alone."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np

from shoal.errors import MisuseError
from shoal.measures.query import Zones
from shoal.model.clocks import Clock, clock_of
from shoal.model.people_on_disk import StoredPeople
from shoal.model.release import Release
from shoal.publishing.block_records import Crowds, ReleaseOnDisk, without_records
from shoal.publishing.block_sample import these_crowds
from shoal.runtime.arrays import Integers
from shoal.runtime.run import Engine, Run, run_tasks, split_evenly
from shoal.utility import Facts
from shoal.utility.vanished import Vanished, side_of_zones, vanished_in, vanished_together

_LABEL: Final = "who vanished"
_ALONE: Final = "alone.npy"


@dataclass(frozen=True, kw_only=True)
class PeopleTask:
    """People from first to before end. people: their folder."""

    people: Path
    first: int
    end: int


@dataclass(frozen=True, kw_only=True)
class CrowdsTask:
    """Crowds from first to before end, or people whom the release holds no record of.

    people: their folder. folder: of the lists of both. release: without its records. job: the folder of the
    blocks.
    """

    people: Path
    folder: Path
    job: Path
    release: Release
    zones: Zones
    clock: Clock
    of_crowds: bool
    first: int
    end: int


def vanished_of_stored(
    people: StoredPeople,
    release: ReleaseOnDisk,
    crowds: Crowds,
    part: int,
    scratch: Path,
    engine: Engine,
    run: Run,
) -> Vanished | None:
    """The raw samples that the release does not hold, by place and hour; None where none was lost.

    part: how many people are in memory with all their samples and boxes.
    """
    if not release.losses.samples_suppressed:
        return None
    n = people.n_subjects
    zones = _zones(people, part, engine, run)
    alone = np.setdiff1d(np.arange(n), crowds.subjects)
    crowds.save(scratch)
    np.save(scratch / _ALONE, alone)
    clock = clock_of(people.load(np.arange(min(n, part))))
    ends = np.flatnonzero(np.diff(np.cumsum(crowds.sizes) // part)) + 1
    pieces = [
        (True, pairwise([0, *ends.tolist(), len(crowds.sizes)])),
        (False, split_evenly(len(alone), part)),
    ]
    header = without_records(release)
    tasks = [
        CrowdsTask(
            people=people.folder,
            folder=scratch,
            job=crowds.job,
            release=header,
            zones=zones,
            clock=clock,
            of_crowds=of_crowds,
            first=first,
            end=end,
        )
        for of_crowds, runs in pieces
        for first, end in runs
    ]
    whole = vanished_together(list(run_tasks(vanished_of_some, tasks, engine, run, _LABEL)))
    counted, told = int(whole.by_hour.lost.sum()), release.losses.samples_suppressed
    if counted != told:
        raise MisuseError(f"{counted} samples are lost and the release tells of {told}")
    return whole


def vanished_of_some(task: CrowdsTask) -> Vanished:
    """What was lost of the task's people."""
    people = StoredPeople.open(task.people)
    if task.of_crowds:
        crowds = Crowds.saved(task.job, task.folder, task.first, task.end)
        everyone = np.arange(len(crowds.sizes))
        # the order of these records is seen by nobody
        some = these_crowds(people, task.release, crowds, everyone, np.random.default_rng(0))
        original = some.original
        lost = Facts(original, some.release, some.linkage, run=Run(threads=1)).extents_of()[0] < 0
    else:
        original = people.load(np.load(task.folder / _ALONE)[task.first : task.end])
        lost = np.ones(original.n_samples, dtype=np.bool_)
    return vanished_in(original, lost, task.zones, task.clock, people.grid)


def bounds_of(task: PeopleTask) -> Integers:
    """[2, 2] the least and the greatest x and y of the task's people."""
    data = StoredPeople.open(task.people).load(np.arange(task.first, task.end))
    return np.array([[data.x.min(), data.y.min()], [data.x.max(), data.y.max()]])


def _zones(people: StoredPeople, part: int, engine: Engine, run: Run) -> Zones:
    """Square zones of whole cells over all samples."""
    tasks = [
        PeopleTask(people=people.folder, first=first, end=end)
        for first, end in split_evenly(people.n_subjects, part)
    ]
    lows, highs = zip(*run_tasks(bounds_of, tasks, engine, run, _LABEL), strict=True)
    (west, south), (east, north) = np.min(lows, axis=0).tolist(), np.max(highs, axis=0).tolist()
    side = side_of_zones(max(east - west, north - south) + 1)
    cell_m = people.grid.cell_m
    return Zones.between((west, east + 1), (south, north + 1), cell_m, side * cell_m)
