"""Measure how long all candidates of an interval can be followed together.

Source: Gramaglia et al. 2017, Sec. II-C; the comparison with nearby records is shoal's. A candidate can be
followed as far as its run of consecutive samples of the subject reaches.
"""

import numpy as np

from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.compiled import compiled
from shoal.verification.boxes.kte_loops import (
    PublishedRecords,
    RawSamples,
    Search,
    find_records,
    fits_at,
    holds_sample,
    new_search,
)


@compiled
def measure_leakage(
    raw: RawSamples,
    published: PublishedRecords,
    subjects: Integers,
    tau: int,
    epsilon: int,
    leaked: Integers,
    chance: Numbers,
) -> None:
    """Measure for how many slots all candidates go on to hold the subject's samples.

    leaked: int64 [samples, 2], forward from the interval that begins with the sample, and back; -1 =
    suppressed samples or no candidates. chance: that as many non-candidates, drawn from those that hold the
    first sample, all hold it more than ``epsilon`` slots beyond.
    """
    search = new_search(published)
    runs = np.empty((len(published.offsets) - 1, 2), dtype=np.int64)
    row = 0
    for subject in subjects:
        samples = np.arange(raw.offsets[subject], raw.offsets[subject + 1])
        runs[:, 1] = -1
        following = np.zeros(2, dtype=np.int64)
        for low in range(len(samples)):
            find_records(raw, published, samples[low], search)
            for back in range(2):
                while following[back] < len(samples):
                    i = following[back]
                    a = raw.t[samples[i]] + (1 - tau if back else 0)
                    if a > raw.t[samples[low]]:
                        break
                    leaked[row + i, back], chance[row + i, back] = _measure_interval(
                        raw, published, samples, low, (a, tau, epsilon), back, search, runs
                    )
                    following[back] += 1
        row += len(samples)


@compiled
def _measure_interval(
    raw: RawSamples,
    published: PublishedRecords,
    samples: Integers,
    low: int,
    interval: tuple[int, int, int],
    back: int,
    search: Search,
    runs: Integers,
) -> tuple[int, float]:
    """Follow all candidates among the records that hold the first sample, ``low``.

    interval: its first slot, tau, epsilon. runs: int64 [n, 2], first and last sample of the last run of each
    record.
    """
    a, tau, epsilon = interval
    first, n = samples[0], len(samples)
    t = raw.t[first : first + n]
    high = np.searchsorted(t, a + tau)
    if not raw.covered[first + low : first + high].all():
        return -1, 0.0
    beyond = np.searchsorted(t, a - epsilon) - 1 if back else np.searchsorted(t, a + tau + epsilon)
    reach = -1 if back else n
    fitting = nearby = holding = 0
    for record in search.records[: search.counts[1]]:
        if fits_at(raw, published, record, samples, low, a, tau):
            fitting += 1
            if not runs[record, 0] <= low <= runs[record, 1]:
                _find_run(raw, published, record, samples, low, runs)
            reach = max(reach, runs[record, 0]) if back else min(reach, runs[record, 1])
        else:
            nearby += 1
            holding += int(0 <= beyond < n and holds_sample(raw, published, record, first + beyond))
    if not fitting:
        return -1, 0.0
    by_chance = 1.0 if 0 <= beyond < n and fitting - 1 <= nearby else 0.0
    for turn in range(min(fitting - 1, nearby)):
        by_chance *= max(holding - turn, 0) / (nearby - turn)
    if back:
        return (a - t[reach] if reach < low else 0), by_chance
    return (t[reach] + 1 - (a + tau) if reach >= high else 0), by_chance


@compiled
def _find_run(
    raw: RawSamples, published: PublishedRecords, record: int, samples: Integers, low: int, runs: Integers
) -> None:
    for side, step in ((0, -1), (1, 1)):
        at = low
        while 0 <= at + step < len(samples) and holds_sample(raw, published, record, samples[at + step]):
            at += step
        runs[record, side] = at
