"""Errors of a published table: by size of cell, over all trips, in rank and in total."""

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from scipy import stats

from shoal.measures.trips import common_part
from shoal.runtime.arrays import Floats
from shoal.runtime.run import Run
from shoal_tables.definition.manifest import TableManifest
from shoal_tables.verification.contributions import added_up, people_on_disk, recount
from shoal_tables.verification.files import read_folder, stated_scale

_SIZES: Final = (10, 50, 100, 300, np.inf)


@dataclass(frozen=True)
class Measurement:
    """One figure of a table; ``cells`` are those that it rests on."""

    name: str
    words: str
    value: float
    better: str
    cells: int


def measure_table(
    raw: Any, folder: str | Path, *, run: Run | None = None, **reading: Any
) -> list[Measurement]:
    """Measure a table against the counts of the raw data without bound and noise."""
    folder = Path(folder)
    manifest, zones, levels = read_folder(folder)
    with people_on_disk(raw, manifest, run, **reading) as people:
        counted = recount(people, manifest, zones)
    one = zones.weights_of(len(counted.counts)) / manifest.promise.granularity
    exact, bounded = (added_up(counts * one, counted.outer) for counts in (counted.unbounded, counted.counts))
    n, (table, *of_outer) = len(one), (level.table for level in levels)
    figures = measurements(exact[:n], bounded[:n], table, manifest)
    for outer in of_outer:
        figures += [
            replace(figure, name=f"outer-{figure.name}", words=f"in outer zones: {figure.words}")
            for figure in measurements(exact[n:], bounded[n:], outer, manifest)
        ]
    return figures


def measurements(
    exact: Floats, bounded: Floats, table: pa.Table, manifest: TableManifest
) -> list[Measurement]:
    """The figures of a table, from exact and bounded counts and its estimates."""
    published, lowest, highest = (
        np.array(table[name].to_numpy(), dtype=np.float64) for name in ("estimate", "low", "high")
    )
    target = stated_scale(manifest.promise) * bounded
    covered = float(((lowest <= target) & (target <= highest)).mean())
    shown = 1 - table["shown"].null_count / len(table)
    rows = []
    for low, high in pairwise(_SIZES):
        chosen = (exact >= low) & (exact < high)
        error = np.abs(published - exact)[chosen] / exact[chosen]
        median = float(np.median(error)) if chosen.any() else float("nan")
        size = f"{low:g} to {high:g}" if np.isfinite(high) else f"{low:g} or more"
        words = f"median relative error of cells with {size}"
        rows.append(Measurement(f"error-from-{low:g}", words, median, "lower", int(chosen.sum())))
    common = common_part(exact, np.where(table["shown"].is_valid(), published, 0))
    filled, rank = exact > 0, float("nan")
    n_filled = int(filled.sum())
    if n_filled > 1 and np.ptp(exact[filled]) > 0 and np.ptp(published[filled]) > 0:
        rank = float(stats.spearmanr(exact[filled], published[filled]).statistic)
    n, what = len(exact), "trips" if manifest.table == "flows" else "counts"
    share = abs(float(published.sum() - exact.sum())) / float(exact.sum()) if filled.any() else float("nan")
    lost = 1 - float(bounded.sum() / exact.sum()) if filled.any() else float("nan")
    of_shown = f"common part of {what}, of cells that are shown (Sørensen)"
    of_filled = "rank correlation of cells that are not empty"
    return [
        *rows,
        Measurement("common-part", of_shown, common, "higher", n),
        Measurement("rank-correlation", of_filled, rank, "higher", n_filled),
        Measurement("total-error", f"relative error of all {what} together", share, "lower", n),
        Measurement("cut-by-bound", f"{what} that the bound takes away", lost, "lower", n),
        Measurement("covered", "intervals that hold the bounded count, scaled", covered, "higher", n),
        Measurement("shown", "cells certain enough to show", shown, "higher", n),
    ]
