"""k-merge's boxes of many crowds at once (kernels/k_merge.py makes those of one)."""

import numpy as np

from shoal.kernels.k_merge import best_partition
from shoal.kernels.weighed_runs import ROOM, SAMPLES, Tracks, join_tracks
from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled


@compiled
def boxes_of_crowds(tracks: Tracks, members: Integers, begins: Integers) -> tuple[Integers, Integers]:
    """[6, b]: the boxes of one crowd after the other, columns as BOX_COLUMNS; and where each begins [c + 1].

    begins: [c + 1], where each crowd's members begin.
    """
    n_crowds, most_samples, most_boxes = len(begins) - 1, 0, 0
    for crowd in range(n_crowds):
        own = members[begins[crowd] : begins[crowd + 1]]
        lengths = tracks.offsets[own + 1] - tracks.offsets[own]
        most_samples = max(most_samples, lengths.sum())
        most_boxes += lengths.min()
    room = np.empty((ROOM, most_samples + 1), dtype=np.int64)
    boxes = np.empty((6, most_boxes), dtype=np.int64)
    starts = np.zeros(n_crowds + 1, dtype=np.int64)
    found = 0
    for crowd in range(n_crowds):
        own = members[begins[crowd] : begins[crowd + 1]]
        m = join_tracks(tracks, own, room)
        t, x, y, owner = (
            room[SAMPLES, :m],
            room[SAMPLES + 1, :m],
            room[SAMPLES + 2, :m],
            room[SAMPLES + 3, :m],
        )
        first, final, _ = best_partition(t, x, y, owner, len(own))
        for run in range(len(first)):
            some = slice(first[run], final[run] + 1)
            boxes[0, found], boxes[1, found] = t[first[run]], t[final[run]] + 1
            boxes[2, found], boxes[3, found] = x[some].min(), y[some].min()
            boxes[4, found], boxes[5, found] = x[some].max() + 1, y[some].max() + 1
            found += 1
        starts[crowd + 1] = found
    return boxes[:, :found].copy(), starts
