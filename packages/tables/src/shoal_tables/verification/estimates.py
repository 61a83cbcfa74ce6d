"""What must follow from published counts alone: estimate, interval and shown number of each cell."""

from collections.abc import Mapping

import numpy as np

from shoal.runtime.arrays import Floats, Integers
from shoal_tables.definition.manifest import Promise


def stated_scale(promise: Promise) -> float:
    """All contributions before the bound over those after it, as the published totals say."""
    totals = promise.totals
    if totals is None or totals.after < 10 * totals.sigma or totals.before < totals.after:
        return 1.0
    return totals.before / totals.after


def estimated(published: Integers, keys: Mapping[str, Integers], promise: Promise) -> tuple[Floats, Floats]:
    """The estimate of each cell in the integers of the counts, and what multiplies sigma for it [n]."""
    numbers, spread = published.astype(np.float64), np.ones(len(published))
    if "origin" in keys:
        hours_and_days = keys["hour"] * (int(keys["day"].max(initial=0)) + 1) + keys["day"]
        opposite = np.lexsort((hours_and_days, keys["origin"], keys["destination"]))
        total, apart = published + published[opposite], published - published[opposite]
        for one in np.unique(hours_and_days):
            cells = np.flatnonzero(hours_and_days == one)
            keep = _true_share(
                total[cells].astype(np.float64), apart[cells].astype(np.float64), promise.sigma
            )
            numbers[cells] = total[cells] / 2 + keep * apart[cells] / 2
            spread[cells] = np.sqrt(0.5 + keep / 2)
    scale = stated_scale(promise)
    return scale * numbers, scale * spread


def _true_share(total: Floats, apart: Floats, sigma: int) -> Floats:
    """The share of each difference between there and back that noise does not explain."""
    noise, clear = 2.0 * sigma**2, total >= 4 * sigma
    if not clear.any():
        return np.ones(len(total))
    relative = max(float((apart[clear] ** 2 - noise).sum() / (total[clear] ** 2).sum()), 0.0)
    signal = relative * np.maximum(total, 0.0) ** 2
    return np.asarray(signal / (signal + noise))
