"""How strongly a release speaks for somebody: the record in whose boxes known samples lie most narrowly."""

import math

import numpy as np

from shoal.kernels.cover_index import Index, first_not_below
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled


@compiled
def strongest_evidence(
    offsets: Integers, samples: Integers, index: Index, n_records: int, widest: float, strengths: Floats
) -> None:
    """Fill strengths [v]: the greatest mean that any record attains with the samples known of a person.

    samples: [m, 3] slots and cells. A sample that a record covers counts 1 + log(widest / volume), with the
    volume in slots and cells of the smallest box that covers it; one that it does not cover counts 0.
    """
    starts = index.starts
    total, best = np.zeros(n_records), np.zeros(n_records)
    touched = np.empty(n_records, dtype=np.int64)
    for person in range(len(strengths)):
        total[:] = 0.0
        for row in range(offsets[person], offsets[person + 1]):
            t, x, y = samples[row]
            n_touched = 0
            for level in range(len(index.class_offsets) - 1):
                end = index.class_offsets[level + 1]
                place = first_not_below(starts, index.class_offsets[level], end, t - (1 << level) + 1)
                while place < end and starts[place] <= t:
                    box, record = index.boxes[place], index.record[place]
                    if box[1] > t and box[2] <= x < box[4] and box[3] <= y < box[5]:
                        volume = float((box[1] - box[0]) * (box[4] - box[2]) * (box[5] - box[3]))
                        if best[record] == 0:
                            touched[n_touched] = record
                            n_touched += 1
                        best[record] = max(best[record], 1 + math.log(widest / volume))
                    place += 1
            for record in touched[:n_touched]:
                total[record] += best[record]
                best[record] = 0.0
        strengths[person] = total.max() / max(offsets[person + 1] - offsets[person], 1)
