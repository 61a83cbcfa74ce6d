"""Metrics of single samples."""

import math

import numpy as np

from shoal.kernels.box_measures import BoxColumns, Ownership, Points, count_empty
from shoal.measures.least_extents import even_weights, lower_bound_of_costs
from shoal.model.claims import KAnonymity
from shoal.utility.facts import Facts, Value

_ASKED = 100  # people, whose least extents are sought among everybody
_ASKED_SEED = 1_717  # the same people for everybody who has the same data
_RESAMPLES = 500


def covered(facts: Facts) -> Value:
    """Share of all raw samples that a box of their subject's record covers."""
    return Value(value=facts.accuracy.raw.n_samples / facts.original.n_samples)


def untouched(facts: Facts) -> Value:
    """Share of all raw samples whose box is their cell and slot."""
    raw = facts.accuracy.raw
    kept = int(raw.count[(raw.space_cells == 2) & (raw.time_slots == 1)].sum())
    return Value(value=kept / facts.original.n_samples)


def created(facts: Facts) -> Value:
    """Share of all published boxes that hold no raw sample of their subject."""
    original, release = facts.original, facts.release
    empty = count_empty(
        Points(original.t, original.x, original.y),
        BoxColumns(*release.boxes.columns()),
        Ownership(original.offsets, release.offsets, facts.records),
    )
    return Value(value=empty / facts.release.n_samples)


def within(facts: Facts, *, space_m: float, time_s: float) -> Value:
    """Share of all raw samples whose box is within these extents, dx + dy and duration."""
    raw = facts.accuracy.raw
    if not raw.n_samples:
        return Value(value=0.0)
    covered_share = raw.n_samples / facts.original.n_samples
    return Value(value=raw.share_within(space_m=space_m, time_s=time_s) * covered_share)


def above_least(facts: Facts) -> Value:
    """The extents as a multiple of the least that any classes of k could have, place and time weighed alike.

    Of 100 people drawn at random, unless exact. nan where samples are left out or boxes need not hold a
    sample of each member, for then the bound says nothing.
    """
    original, release, accuracy = facts.original, facts.release, facts.accuracy
    claim = release.claim
    if not (isinstance(claim, KAnonymity) and claim.truthful) or accuracy.samples_suppressed:
        return Value(value=math.nan)
    grid, n = original.snapped_grid(), original.n_subjects
    weights = even_weights(
        original, accuracy.raw.mean_space_m / grid.cell_m, accuracy.raw.mean_time_s / grid.slot_s
    )
    rng, everybody = np.random.default_rng(_ASKED_SEED), facts.exact or n <= _ASKED
    asked = np.arange(n) if everybody else np.sort(rng.choice(n, _ASKED, replace=False))
    least = lower_bound_of_costs(original, claim.k, weights, asked, facts.run)
    cells, slots = (extents.astype(np.int64) for extents in facts.extents_of(asked))
    of_samples = weights.place[np.minimum(cells, len(weights.place) - 1)] + weights.per_slot * slots
    lengths = original.lengths[asked]
    costs = np.add.reduceat(of_samples, np.cumsum(lengths) - lengths)
    value = float(int(costs.sum()) / least.sum())
    if everybody:
        return Value(value=value)
    draws = rng.integers(0, _ASKED, (_RESAMPLES, _ASKED))
    low, high = np.quantile(costs[draws].sum(axis=1) / least[draws].sum(axis=1), [0.025, 0.975])
    return Value(value=value, drawn_low=float(low), drawn_high=float(high))
