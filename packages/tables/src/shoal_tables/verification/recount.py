"""The counts before noise, recomputed from the raw data: bound, rounding down and sums in whole numbers."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np

from shoal.model.people_on_disk import StoredPeople
from shoal.runtime.arrays import Integers
from shoal_tables.definition.manifest import TableManifest
from shoal_tables.verification.contributions import Frame, contributions, n_cells, weights
from shoal_tables.verification.samples import samples_in_parts


@dataclass(frozen=True)
class Recount:
    """Sums of all units by the rules, without the bound, and with it on each day alone [cells]."""

    counts: Integers
    unbounded: Integers
    bounded_by_day: Integers
    units: int
    units_over: int
    corner: tuple[int, int] | None
    totals: Integers


@dataclass(frozen=True)
class UnitVectors:
    """What units contribute to cells, in integers before and after the bound [k]."""

    unit: Integers
    cell: Integers
    unbounded: Integers
    bounded: Integers
    bounded_by_day: Integers
    units_over: int
    corner: tuple[int, int]


def unit_vectors(
    people: StoredPeople, manifest: TableManifest, names: tuple[str, ...], geometries: list[Any]
) -> Iterator[UnitVectors]:
    """Yield what some people contribute after others, each person's together."""
    frame = Frame.of(manifest)
    common, n_days = frame.common_multiple, max(len(frame.days), 1)
    for part in samples_in_parts(people, manifest, names, geometries):
        if not len(part.t):
            continue
        entries = contributions(part, frame, manifest)
        whole = weights(entries, frame, manifest.table)
        bounded, cut = _bounded(entries.unit, whole, manifest, common)
        by_day = bounded
        if n_days > 1:
            by_day, _ = _bounded(entries.unit * n_days + entries.cell % n_days, whole, manifest, common)
        yield UnitVectors(
            unit=entries.unit,
            cell=entries.cell,
            unbounded=whole * manifest.promise.granularity // common,
            bounded=bounded,
            bounded_by_day=by_day,
            units_over=cut,
            corner=(int(part.x.min()), int(part.y.min())),
        )


def recount(
    people: StoredPeople, manifest: TableManifest, names: tuple[str, ...], geometries: list[Any]
) -> Recount:
    """Count from the raw data alone."""
    n = n_cells(Frame.of(manifest), manifest.table)
    counts, unbounded, by_day = (np.zeros(n, dtype=np.int64) for _ in range(3))
    units, over = 0, 0
    corners, totals = [], np.zeros(2, dtype=np.int64)
    for part in unit_vectors(people, manifest, names, geometries):
        for total, integers in (
            (counts, part.bounded),
            (unbounded, part.unbounded),
            (by_day, part.bounded_by_day),
        ):
            np.add.at(total, part.cell, integers)
        units, over = units + len(np.unique(part.unit)), over + part.units_over
        totals += _totals(part, manifest)
        corners.append(part.corner)
    corner = (min(x for x, _ in corners), min(y for _, y in corners)) if corners else None
    return Recount(counts, unbounded, by_day, units, over, corner, totals)


def _totals(part: UnitVectors, manifest: TableManifest) -> Integers:
    promised = manifest.promise.totals
    most = 0 if promised is None else promised.most
    _, unit = np.unique(part.unit, return_inverse=True)
    both = (np.bincount(unit.ravel(), integers) for integers in (part.unbounded, part.bounded))
    return np.array([int(np.minimum(sums, most).sum()) for sums in both], dtype=np.int64)


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
