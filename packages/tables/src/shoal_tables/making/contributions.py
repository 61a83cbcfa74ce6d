"""Each unit's contribution: whole multiples of 1 / granularity, clipped to the bound in exact arithmetic."""

from dataclasses import dataclass
from math import isqrt
from typing import Final

import numpy as np

from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal_tables.making.rules import Rules
from shoal_tables.making.sequences import Events, events_of, sequences_of

_SAFE: Final = 2.0**62
_NEAR: Final = 1e-4
"""So near a whole number, floating point cannot say on which side of it a quotient lies."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Parts of one, and what one unit adds at most in these parts: in L2, and to each total."""

    granularity: int
    sensitivity: int
    most: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Tally:
    """Sums over some units: of cells with contributions, ascending, and in all before and after the bound.

    totals: with at most the limit of each unit. sums: without that limit.
    """

    cells: Integers
    counts: Integers
    totals: Integers
    sums: Integers


def tally(people: Trajectories, rules: Rules, limits: Limits) -> Tally:
    """The sums over all units of some people.

    Parameters
    ----------
    people : Trajectories
        On a grid of 1 m and 1 s.
    rules : Rules
        What is counted.
    limits : Limits
        Of each unit.

    Returns
    -------
    Tally
        Secret sums.
    """
    unit, cell, number = contributions(events_of(sequences_of(people, rules), rules), rules)
    before, after = clip(unit, number, rules, cell % rules.shape[-1], limits)
    cells, place = np.unique(cell, return_inverse=True)
    counts = np.zeros(len(cells), dtype=np.int64)
    np.add.at(counts, place, after)
    first = np.flatnonzero(np.diff(unit, prepend=-1))
    of_unit = (np.add.reduceat(parts, first) if len(first) else parts for parts in (before, after))
    totals = np.array([np.minimum(sums, limits.most).sum() for sums in of_unit], dtype=np.int64)
    sums = np.array([before.sum(), after.sum()], dtype=np.int64)
    return Tally(cells=cells, counts=counts, totals=totals, sums=sums)


def contributions(events: Events, rules: Rules) -> tuple[Integers, Integers, Integers]:
    """For each unit and cell, int64 [n], ascending: how many events, or dates with one."""
    codes = (*events.codes, rules.day_of_date[events.date]) if rules.has_days else events.codes
    cell = np.ravel_multi_index(codes, rules.shape) if len(events.unit) else events.unit
    keys, number = np.unique(events.unit * rules.n_cells + cell, return_counts=True)
    return keys // rules.n_cells, keys % rules.n_cells, number.astype(np.int64)


def clip(
    unit: Integers, number: Integers, rules: Rules, day: Integers, limits: Limits
) -> tuple[Integers, Integers]:
    """Clip vectors in L2 and round them down; the parts of each entry before and after.

    unit, number, day: int64 [n], ascending by unit: entries, and the position of each one's day.
    """
    if not len(unit):
        return number, number
    scale, granularity, sensitivity = rules.common_days, limits.granularity, limits.sensitivity
    weight = scale // rules.dates_per_day if rules.has_days else np.ones(1, dtype=np.int64)
    w = number * (weight[day] if rules.has_days else 1)
    first = np.flatnonzero(np.diff(unit, prepend=-1))
    squares = w.astype(object) ** 2 if float(w.max()) ** 2 * len(w) > _SAFE else w * w
    norms = np.add.reduceat(squares, first)
    too_long = np.array(
        [n2 * granularity**2 > (sensitivity * scale) ** 2 for n2 in norms.tolist()], dtype=np.bool_
    )
    lengths = np.diff(np.append(first, len(unit)))
    long = np.repeat(too_long, lengths)
    before = w * (granularity // scale)
    after = before.copy()
    after[long] = _quotients(w[long], np.repeat(norms, lengths)[long], sensitivity)
    return before, after


def _quotients(w: Integers, norm: Integers, sensitivity: int) -> Integers:
    """floor(w * sensitivity / sqrt(norm)), exactly."""
    quotient = w * float(sensitivity) / np.sqrt(norm.astype(np.float64))
    whole = np.floor(quotient).astype(np.int64)
    for index in np.flatnonzero(np.abs(quotient - np.rint(quotient)) < _NEAR).tolist():
        whole[index] = isqrt((int(w[index]) * sensitivity) ** 2 // int(norm[index]))
    return whole
