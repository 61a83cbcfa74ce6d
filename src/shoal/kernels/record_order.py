"""Whether records of boxes stand in canonical order, in which equal records are equal byte for byte."""

from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled


@compiled
def ascend(boxes: Integers, offsets: Integers) -> bool:
    """Whether the boxes [b, 6] of each record ascend, column by column, repeats allowed."""
    for record in range(len(offsets) - 1):
        for b in range(offsets[record] + 1, offsets[record + 1]):
            for column in range(boxes.shape[1]):
                if boxes[b - 1, column] < boxes[b, column]:
                    break
                if boxes[b - 1, column] > boxes[b, column]:
                    return False
    return True
