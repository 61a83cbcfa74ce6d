"""The smallest boxes around several boxes."""

import numpy as np

from shoal.model.release import BOX_COLUMNS, Boxes
from shoal.runtime.arrays import Integers

# what a hull takes from the boxes inside it
_BOUNDS = {name: np.maximum if name.endswith(("_end", "_max")) else np.minimum for name in BOX_COLUMNS}


def hulls_of(boxes: Boxes, first: Integers) -> Boxes:
    """One box around each run of rows that begins at first[i] and ends where the next one begins."""
    return Boxes(**{name: bound.reduceat(getattr(boxes, name), first) for name, bound in _BOUNDS.items()})
