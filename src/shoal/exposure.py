"""How exposed people are before anything is published: the k-gap and the weight of its tail (glove.txt, Sec. 4.2 and 5)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class KGap:
    """The k-gap of every subject, each array float64 [n] in the order of the subjects; 0 = already hidden, 1 = isolated.

    gap: Eq. 11; space, time: its parts, gap = space + time (Sec. 5.3). tail_weight, tail_weight_space, tail_weight_time: the Tail
    Weight Index of the subject's sample stretches (Fig. 5a), nan where the middle of the distribution is flat.
    space_cap_m, time_cap_s: the stretches that count as total loss.
    """

    k: int
    gap: Floats
    space: Floats
    time: Floats
    tail_weight: Floats
    tail_weight_space: Floats
    tail_weight_time: Floats
    space_cap_m: float
    time_cap_s: float
