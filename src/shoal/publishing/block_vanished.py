"""Who vanished of people in blocks: exact, crowd by crowd, as every person counts in one part alone."""

from typing import Final

import numpy as np

from shoal.errors import MisuseError
from shoal.measures.query import Zones
from shoal.model.clocks import clock_of
from shoal.model.people_on_disk import StoredPeople
from shoal.publishing.block_records import Crowds, ReleaseOnDisk
from shoal.publishing.block_sample import these_crowds
from shoal.runtime.arrays import Integers
from shoal.runtime.run import Run
from shoal.utility import Facts
from shoal.utility.vanished import Vanished, side_of_zones, vanished_in, vanished_together

_LABEL: Final = "who vanished"


def vanished_of_stored(
    people: StoredPeople, release: ReleaseOnDisk, crowds: Crowds, part: int, run: Run
) -> Vanished | None:
    """The raw samples that the release does not hold, by place and hour; None where none was lost.

    part: how many people are in memory with all their samples and boxes.
    """
    if not release.losses.samples_suppressed:
        return None
    grid, n = people.grid, people.n_subjects
    zones = _zones(people, [own for own in np.array_split(np.arange(n), -(-n // part)) if len(own)])
    alone = np.setdiff1d(np.arange(n), crowds.subjects)
    groups = np.split(
        np.arange(len(crowds.sizes)),
        np.flatnonzero(np.diff(np.cumsum(crowds.sizes) // part)) + 1,
    )
    clock = clock_of(people.load(np.arange(min(n, part))))
    rng = np.random.default_rng(0)  # of an order that nobody sees
    found = []
    for done, own in enumerate(groups):
        run.progress(_LABEL, done, len(groups))
        some = these_crowds(people, release, crowds, own, rng)
        lost = (
            Facts(some.original, some.release, some.linkage, run=Run(threads=run.threads)).extents_of()[0] < 0
        )
        found.append(vanished_in(some.original, lost, zones, clock, grid))
    for own in np.array_split(alone, -(-len(alone) // part)) if len(alone) else ():
        left_out = people.load(own)
        everything = np.ones(left_out.n_samples, dtype=np.bool_)
        found.append(vanished_in(left_out, everything, zones, clock, grid))
    run.progress(_LABEL, len(groups), len(groups))
    whole = vanished_together(found)
    counted, told = int(whole.by_hour.lost.sum()), release.losses.samples_suppressed
    if counted != told:
        raise MisuseError(f"{counted} samples are lost and the release tells of {told}")
    return whole


def _zones(people: StoredPeople, parts: list[Integers]) -> Zones:
    """Square zones of whole cells over all samples."""
    lows, highs = [], []
    for own in parts:
        data = people.load(own)
        lows.append((int(data.x.min()), int(data.y.min())))
        highs.append((int(data.x.max()), int(data.y.max())))
    (west, south), (east, north) = np.min(lows, axis=0).tolist(), np.max(highs, axis=0).tolist()
    side = side_of_zones(max(east - west, north - south) + 1)
    cell_m = people.grid.cell_m
    return Zones.between((west, east + 1), (south, north + 1), cell_m, side * cell_m)
