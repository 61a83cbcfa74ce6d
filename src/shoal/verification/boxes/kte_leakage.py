"""The compiled question how far all candidates of an interval go on together, before it and after it."""

import numpy as np

from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.compiled import compiled
from shoal.verification.boxes.box_index import boxes_with
from shoal.verification.boxes.kte_loops import (
    Published,
    Raw,
    first_from,
    fits_at,
    holds_sample,
    kept_samples,
)


@compiled
def leakage(
    raw: Raw,
    published: Published,
    subjects: Integers,
    tau: int,
    epsilon: int,
    leaked: Integers,
    chance: Numbers,
) -> None:
    """How far all candidates go on holding the subject's samples, in slots, -1 where nothing is asked.

    leaked: int64 [samples of these subjects, 2]. First column: on from the end of the interval that begins
    with the sample; second: back from the start of the interval that ends with it. Intervals with suppressed
    samples, or without candidates, are left out. chance: float64 [the same]. Draw as many records as there
    are candidates besides the subject's own, from those that hold the interval's first sample and are no
    candidates: how probably all of them hold the subject's first sample more than ``epsilon`` slots beyond
    the interval.
    """
    found = np.empty(len(published.boxes), dtype=np.int64)
    candidates = np.empty(len(published.offsets) - 1, dtype=np.int64)
    nearby = np.empty(len(published.offsets) - 1, dtype=np.int64)
    seen = np.full(len(published.offsets) - 1, -1, dtype=np.int64)
    search = 0
    row = 0
    for subject in subjects:
        own, gone = kept_samples(raw, subject)
        first, end = raw.offsets[subject], raw.offsets[subject + 1]
        for i in range(first, end):
            for backwards in range(2):
                leaked[row, backwards] = -1
                chance[row, backwards] = 0.0
                a = raw.t[i] if backwards == 0 else raw.t[i] + 1 - tau
                silent = first_from(raw, gone, a)
                if silent < len(gone) and raw.t[gone[silent]] < a + tau:
                    continue
                low = first_from(raw, own, a)
                search += 1
                count = n_nearby = 0
                n_found = boxes_with(
                    published.index_,
                    published.boxes,
                    raw.t[own[low]],
                    raw.x[own[low]],
                    raw.y[own[low]],
                    found,
                )
                for place in range(n_found):
                    record = published.owner[found[place]]
                    if seen[record] != search:
                        seen[record] = search
                        if fits_at(raw, published, record, own, low, a, tau):
                            candidates[count] = record
                            count += 1
                        else:
                            nearby[n_nearby] = record
                            n_nearby += 1
                if count:
                    beyond = _beyond(raw, first, end, a, tau, epsilon, backwards == 1)
                    if beyond >= 0:
                        chance[row, backwards] = _all_hold(
                            raw, published, nearby[:n_nearby], beyond, count - 1
                        )
                    leaked[row, backwards] = _followed(
                        raw, published, candidates[:count], first, end, a, tau, backwards == 1
                    )
            row += 1


@compiled
def _beyond(raw: Raw, first: int, end: int, a: int, tau: int, epsilon: int, backwards: bool) -> int:
    """The subject's first sample more than epsilon after, or before, the interval at ``a``; -1 = none."""
    if backwards:
        i = first + np.searchsorted(raw.t[first:end], a - epsilon) - 1
        return int(i) if i >= first else -1
    i = first + np.searchsorted(raw.t[first:end], a + tau + epsilon)
    return int(i) if i < end else -1


@compiled
def _all_hold(raw: Raw, published: Published, records: Integers, i: int, drawn: int) -> float:
    """How probably so many different records, drawn from these, all hold sample i; 0 with too few."""
    holding = 0
    for record in records:
        holding += holds_sample(raw, published, record, i)
    probability = 1.0 if drawn <= len(records) else 0.0
    for turn in range(min(drawn, len(records))):
        probability *= max(holding - turn, 0) / (len(records) - turn)
    return probability


@compiled
def _followed(
    raw: Raw,
    published: Published,
    candidates: Integers,
    first: int,
    end: int,
    a: int,
    tau: int,
    backwards: bool,
) -> int:
    """Slots from the interval to the last neighboring sample that all candidates hold, without a gap."""
    step = -1 if backwards else 1
    own = raw.t[first:end]
    i = int(first + (np.searchsorted(own, a) - 1 if backwards else np.searchsorted(own, a + tau)))
    far = 0
    while first <= i < end:
        for c in range(len(candidates)):
            if not holds_sample(raw, published, candidates[c], i):
                return far
        far = a - raw.t[i] if backwards else raw.t[i] + 1 - (a + tau)
        i += step
    return far
