"""The counts before noise, recomputed from the raw data: bound, rounding down and sums in whole numbers."""

from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np

from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal_tables.definition.manifest import TableManifest
from shoal_tables.verification.contributions import Frame, contributions, n_cells, weights
from shoal_tables.verification.samples import samples_in_parts


@dataclass(frozen=True)
class Recount:
    """Sums over all units, under the stated bound and under faults that publishers have made.

    Parameters
    ----------
    counts
        As the rules say [n].
    unbounded
        Without the bound [n].
    bounded_by_day
        With the bound on each day of the cells alone [n].
    units, units_over
        Units with a contribution, and those that the bound cut.
    samples
        Samples within the period.
    corner
        The least x and the least y of the samples, in meters.
    """

    counts: Integers
    unbounded: Integers
    bounded_by_day: Integers
    units: int
    units_over: int
    samples: int
    corner: tuple[int, int] | None


def recount(
    original: Trajectories, manifest: TableManifest, names: tuple[str, ...], geometries: list[Any]
) -> Recount:
    """Count from the raw data alone."""
    frame = Frame.of(manifest)
    n = n_cells(frame, manifest.table)
    counts, unbounded, by_day_alone = (np.zeros(n, dtype=np.int64) for _ in range(3))
    units, over, n_samples = 0, 0, 0
    least: list[tuple[int, int]] = []
    for part in samples_in_parts(original, manifest, names, geometries):
        if not len(part.t):
            continue
        n_samples += len(part.t)
        least.append((int(part.x.min()), int(part.y.min())))
        found = contributions(part, frame, manifest)
        whole = weights(found, frame, manifest.table)
        scaled = whole * manifest.promise.granularity // frame.common_multiple
        bounded, cut = _bounded(found.unit, whole, manifest, frame.common_multiple)
        day = found.cell % max(len(frame.days), 1)
        by_day, _ = _bounded(
            found.unit * max(len(frame.days), 1) + day, whole, manifest, frame.common_multiple
        )
        for total, integers in zip((counts, unbounded, by_day_alone), (bounded, scaled, by_day), strict=True):
            np.add.at(total, found.cell, integers)
        units, over = units + len(np.unique(found.unit)), over + cut
    corner = (min(x for x, _ in least), min(y for _, y in least)) if least else None
    return Recount(counts, unbounded, by_day_alone, units, over, n_samples, corner)


def _bounded(group: Integers, whole: Integers, manifest: TableManifest, common: int) -> tuple[Integers, int]:
    """Integers of each row after the bound on its group, and the number of groups that were cut."""
    g, bound = manifest.promise.granularity, manifest.promise.sensitivity
    integers = whole * g // common
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    ends = np.append(starts, len(group))[1:]
    cut = 0
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        rows = order[start:end]
        entries = whole[rows].tolist()
        squares = sum(entry * entry for entry in entries)
        if squares * g * g <= (bound * common) ** 2:
            continue
        cut += 1
        integers[rows] = [isqrt(entry * entry * bound * bound // squares) for entry in entries]
    return integers, cut
