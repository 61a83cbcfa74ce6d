"""Whose samples the boxes of each record hold: who could be behind it, for somebody who has the raw data."""

import numpy as np

from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled


@compiled
def most_hits(
    offsets: Integers,
    boxes: Integers,
    t: Integers,
    x: Integers,
    y: Integers,
    subject: Integers,
    n_subjects: int,
    hits: Integers,
    named: Integers,
) -> None:
    """The subjects with samples in most boxes of each record.

    offsets [r + 1], boxes [b, 6]: of the records. t, x, y, subject [m]: the samples, ascending by t. Set:
    hits [r], in how many boxes they have any; named [r, c], the first of them, ascending, -1 = no more.
    """
    count = np.zeros(n_subjects, dtype=np.int64)
    last_box = np.full(n_subjects, -1, dtype=np.int64)
    touched = np.empty(n_subjects, dtype=np.int64)
    for record in range(len(offsets) - 1):
        n_touched = 0
        for b in range(offsets[record], offsets[record + 1]):
            for i in range(np.searchsorted(t, boxes[b, 0]), len(t)):
                if t[i] >= boxes[b, 1]:
                    break
                if not (boxes[b, 2] <= x[i] < boxes[b, 4] and boxes[b, 3] <= y[i] < boxes[b, 5]):
                    continue
                one = subject[i]
                if last_box[one] == b:
                    continue
                last_box[one] = b
                if count[one] == 0:
                    touched[n_touched] = one
                    n_touched += 1
                count[one] += 1
        most = 0
        for place in range(n_touched):
            most = max(most, count[touched[place]])
        hits[record] = most
        named[record] = -1
        seen = touched[:n_touched].copy()
        seen.sort()
        place = 0
        for one in seen:
            if count[one] == most and place < named.shape[1]:
                named[record, place] = one
                place += 1
            count[one] = 0
