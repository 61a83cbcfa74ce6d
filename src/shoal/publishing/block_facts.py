"""The report of a release made in blocks: attacks and uses, k-gaps, and lost samples.

Attacks and uses are measured on whole crowds drawn at random: a person hides among as many people as in the
release, but fewer others can be taken for the victim, and the report says so. k-gaps are exact for the
people drawn: the nearest of a set are among the nearest of its subsets. Lost samples are exact.
"""

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final, Self

import numpy as np

from shoal.errors import MisuseError
from shoal.measures.k_gap import KGap, k_gaps, nearest_others, sample_for_k_gap, sample_people
from shoal.measures.query import Zones
from shoal.model.clocks import Clock, clock_of
from shoal.model.people_on_disk import StoredPeople
from shoal.model.release import Boxes, Linkage, Losses, Release
from shoal.publishing.block_records import (
    Crowds,
    ReleaseOnDisk,
    Span,
    records_in_parts,
    release_with,
    without_records,
)
from shoal.runtime.arrays import Floats, Integers, offsets_of
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Engine, Run, run_tasks, split_evenly
from shoal.units import states
from shoal.utility import Facts
from shoal.utility.facts import KS
from shoal.utility.vanished import Vanished, side_of_zones, vanished_in, vanished_together

SAMPLE_PEOPLE: Final = 1_000
_DRAW_SEED: Final = 1  # of the sample, which no page shows; a resumed run draws the same


def draw_crowds(people: StoredPeople, release: ReleaseOnDisk, crowds: Crowds, run: Run) -> Facts:
    """Draw crowds until they hold SAMPLE_PEOPLE people, or all."""
    rng = np.random.default_rng(_DRAW_SEED)
    order = rng.permutation(len(crowds.sizes))
    enough = int(np.searchsorted(np.cumsum(crowds.sizes[order]), SAMPLE_PEOPLE)) + 1
    return select_crowds(people, release, crowds, np.sort(order[:enough]), rng, run)


def select_crowds(
    people: StoredPeople,
    release: Release,
    crowds: Crowds,
    chosen: Integers,
    rng: np.random.Generator,
    run: Run,
) -> Facts:
    """These crowds (ascending) as a small data set."""
    ends = np.cumsum(crowds.sizes)
    subjects_of_crowds = [
        crowds.subjects[ends[crowd] - crowds.sizes[crowd] : ends[crowd]] for crowd in chosen.tolist()
    ]
    some = replace(
        crowds,
        subjects=np.concatenate(subjects_of_crowds),
        blocks=crowds.blocks[chosen],
        sizes=crowds.sizes[chosen],
        starts=crowds.starts[chosen],
        lengths=crowds.lengths[chosen],
    )
    shuffled = rng.permutation(len(some.subjects))
    crowd_of = np.repeat(np.arange(len(some.sizes)), some.sizes)[shuffled]
    subjects = some.subjects[shuffled]
    header = replace(
        release,
        trajectory_ids=Randomness.for_research(_DRAW_SEED).pseudonyms(len(subjects)),
        offsets=np.zeros(len(subjects) + 1, dtype=np.int64),
        losses=Losses(),
    )
    parts = list(records_in_parts(header, some, crowd_of))
    offsets = offsets_of(np.concatenate([np.diff(part.offsets) for part in parts]))
    whole = release_with(header, offsets=offsets, payload=Boxes.concatenate([part.boxes for part in parts]))
    by_subject = np.argsort(subjects)
    names = people.names.take(subjects[by_subject]).to_pylist()
    records = tuple(header.trajectory_ids[position] for position in by_subject.tolist())
    return Facts(people.load(np.sort(subjects)), whole, Linkage(tuple(names), records), run=run)


_LEAST: Final = 500  # people per task, even when blocks are smaller
_DRAWN, _BELOW = "drawn.npy", "below.npy"


@dataclass(frozen=True, eq=False, kw_only=True)
class Nearest:
    """[d, c] the nearest of each person drawn, and their efforts."""

    who: Integers
    effort: Floats

    def joined(self, other: Self) -> "Nearest":
        """The nearest of both, which hold different people; of equals the first."""
        who = np.concatenate([self.who, other.who], axis=1)
        effort = np.concatenate([self.effort, other.effort], axis=1)
        order = np.lexsort((who, effort), axis=1)[:, : self.who.shape[1]]
        return Nearest(
            who=np.take_along_axis(who, order, axis=1), effort=np.take_along_axis(effort, order, axis=1)
        )


def find_nearest(stored: Path, folder: Path, count: int, threads: int, among: Span) -> Nearest:
    """The nearest of those drawn, whose lists are in a folder; effort inf where there are too few."""
    people = StoredPeople.open(stored)
    drawn, below = np.load(folder / _DRAWN), np.load(folder / _BELOW)
    together = np.union1d(drawn, np.arange(*among))
    places = np.searchsorted(together, drawn)
    positions, effort = nearest_others(people.load(together), count, places, below, Run(threads=threads))
    who = np.append(together, people.n_subjects)[positions]
    in_task = (among[0] <= who) & (who < among[1])  # the other people are found by other tasks
    return Nearest(who=np.where(in_task, who, people.n_subjects), effort=np.where(in_task, effort, np.inf))


def k_gaps_on_disk(
    people: StoredPeople, k: int, part: int, scratch: Path, engine: Engine, run: Run
) -> tuple[KGap, ...]:
    """The k-gaps at k = 2, 5 and the claim's k; ``part``: people in memory."""
    n = people.n_subjects
    ks = [size for size in sorted({*KS, k}) if 2 <= size <= n]
    part = max(part, _LEAST)
    if n <= part:
        return tuple(k_gaps(people.load(np.arange(n)), ks, run=run, subjects=sample_for_k_gap(n)))
    drawn = people_for_k_gaps(n, k, part)
    np.save(scratch / _DRAWN, drawn)
    np.save(scratch / _BELOW, np.full(len(drawn), np.inf))
    threads = run.threads if isinstance(engine, Run) else 1
    first, *others = split_evenly(n, part)
    near = find_nearest(people.folder, scratch, max(ks) - 1, run.threads, first)
    # no person beyond the last of these can be among the nearest
    np.save(scratch / _BELOW, np.nextafter(near.effort[:, -1], np.inf))
    find = partial(find_nearest, people.folder, scratch, max(ks) - 1, threads)
    for more in run_tasks(find, others, engine, run, "seeking the nearest others"):
        near = near.joined(more)
    together = np.union1d(drawn, near.who)
    gaps = k_gaps(
        people.load(together), ks, run=Run(threads=run.threads), subjects=np.searchsorted(together, drawn)
    )
    return tuple(replace(gap, subjects=drawn) for gap in gaps)


def people_for_k_gaps(n: int, k: int, part: int) -> Integers:
    """The people, ascending, whose k-gaps are computed."""
    part = max(part, _LEAST)
    drawn = sample_for_k_gap(n) if n <= part else sample_people(n, part // max(*KS, k))
    return np.arange(n) if drawn is None else drawn


_VANISHED_LABEL: Final = "what was suppressed"
_ALONE: Final = "alone.npy"


def lost_samples_on_disk(
    people: StoredPeople,
    release: ReleaseOnDisk,
    crowds: Crowds,
    part: int,
    scratch: Path,
    engine: Engine,
    run: Run,
) -> Vanished | None:
    """Raw samples that the release lacks, by place and hour, if any."""
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
    tasks = [(of_crowds, span) for of_crowds, runs in pieces for span in runs]
    header = without_records(release)
    count = partial(lost_samples_of, people.folder, scratch, crowds.job, header, zones, clock)
    whole = vanished_together(list(run_tasks(count, tasks, engine, run, _VANISHED_LABEL)))
    lost_samples, stated_losses = int(whole.by_hour.lost.sum()), release.losses.samples_suppressed
    if not states(stated_losses, lost_samples):
        raise MisuseError(f"{lost_samples} samples are lost and the release tells of {stated_losses}")
    return whole


def lost_samples_of(
    stored: Path, lists: Path, job: Path, header: Release, zones: Zones, clock: Clock, some: tuple[bool, Span]
) -> Vanished:
    """The lost samples of some crowds, or of people without a record."""
    people, (of_crowds, span) = StoredPeople.open(stored), some
    if of_crowds:
        crowds = Crowds.saved(job, lists, *span)
        everyone = np.arange(len(crowds.sizes))
        # no one sees the order of these records
        rng, run = np.random.default_rng(0), Run(threads=1)
        facts = select_crowds(people, header, crowds, everyone, rng, run)
        original, lost = facts.original, facts.extents_of()[0] < 0
    else:
        original = people.load(np.load(lists / _ALONE)[slice(*span)])
        lost = np.ones(original.n_samples, dtype=np.bool_)
    return vanished_in(original, lost, zones, clock, people.grid)


def bounds_of(stored: Path, people: Span) -> Integers:
    """[2, 2] least and greatest x and y."""
    data = StoredPeople.open(stored).load(np.arange(*people))
    return np.array([[data.x.min(), data.y.min()], [data.x.max(), data.y.max()]])


def _zones(people: StoredPeople, part: int, engine: Engine, run: Run) -> Zones:
    spans, bounds = split_evenly(people.n_subjects, part), partial(bounds_of, people.folder)
    lows, highs = zip(*run_tasks(bounds, spans, engine, run, _VANISHED_LABEL), strict=True)
    (west, south), (east, north) = np.min(lows, axis=0).tolist(), np.max(highs, axis=0).tolist()
    side = side_of_zones(max(east - west, north - south) + 1)
    cell_m = people.grid.cell_m
    return Zones.between((west, east + 1), (south, north + 1), cell_m, side * cell_m)
