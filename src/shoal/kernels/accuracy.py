"""How wide the box is that stands for each raw sample."""

from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled


@compiled
def covering_extents(
    sample_offsets: Integers,
    t: Integers,
    x: Integers,
    y: Integers,
    record_of: Integers,
    time_slots: Integers,
    space_cells: Integers,
    box_offsets: Integers,
    t_start: Integers,
    t_end: Integers,
    x_min: Integers,
    y_min: Integers,
    x_max: Integers,
    y_max: Integers,
) -> None:
    """Fill ``time_slots`` and ``space_cells`` (dx + dy) with each sample's covering box, -1 where no box covers it.

    The covering box is looked for in the record of the sample's own subject (``record_of``, -1 = none); of several the
    least in time, then in space. t ascends within a subject, boxes within a record are ordered by t_start.
    """
    for subject in range(len(record_of)):
        record = record_of[subject]
        first = box_offsets[record] if record >= 0 else 0
        end = box_offsets[record + 1] if record >= 0 else 0
        for i in range(sample_offsets[subject], sample_offsets[subject + 1]):
            time_slots[i] = -1
            space_cells[i] = -1
            while first < end and t_end[first] <= t[i]:
                first += 1
            for j in range(first, end):
                if t_start[j] > t[i]:
                    break
                if t[i] < t_end[j] and x_min[j] <= x[i] < x_max[j] and y_min[j] <= y[i] < y_max[j]:
                    time = t_end[j] - t_start[j]
                    space = x_max[j] - x_min[j] + y_max[j] - y_min[j]
                    if (
                        time_slots[i] < 0
                        or time < time_slots[i]
                        or (time == time_slots[i] and space < space_cells[i])
                    ):
                        time_slots[i] = time
                        space_cells[i] = space
