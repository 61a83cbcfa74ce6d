"""Edit distance on real sequences (EDR): how many samples separate two trajectories.

A sample is t seconds, x and y meters; each trajectory ascends by t. Two samples match when they differ by at
most ``match_m`` in x and in y and by at most ``match_s`` in t. Each sample inserted, deleted or replaced
counts 1 (Chen, Oezsu and Oria 2005, Def. 4).
"""

from typing import Final

import numpy as np

from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled

BITS: Final = 62  # of an int64, so that a sum of two words stays one
FULL: Final = (1 << BITS) - 1


@compiled
def edit_distances(
    t: Floats,
    x: Floats,
    y: Floats,
    offsets: Integers,
    first: int,
    match_m: float,
    match_s: float,
    distances: Integers,
) -> None:
    """Set distances [n] from trajectory ``first`` to each later one.

    62 cells of the table at once (Myers 1999; Hyyroe 2003, blocks).
    """
    start, end = offsets[first], offsets[first + 1]
    words = (end - start + BITS - 1) // BITS
    plus, minus, equal = np.empty(words, np.int64), np.empty(words, np.int64), np.empty(words, np.int64)
    last_bit = (end - start - 1) % BITS
    for other in range(first + 1, len(offsets) - 1):
        plus[:] = FULL
        minus[:] = 0
        score = end - start
        low = start
        for j in range(offsets[other], offsets[other + 1]):
            while low < end and t[low] < t[j] - match_s:
                low += 1
            beyond = low
            while beyond < end and t[beyond] <= t[j] + match_s:
                beyond += 1
            mark_matches(x, y, start, low, beyond, x[j], y[j], match_m, equal)
            score += next_column(equal, plus, minus, last_bit)
        distances[other] = score


@compiled
def mark_matches(
    x: Floats,
    y: Floats,
    start: int,
    first: int,
    end: int,
    at_x: float,
    at_y: float,
    match_m: float,
    equal: Integers,
) -> None:
    """Set bit i - start of ``equal`` for each row i from first to end that matches (at_x, at_y) in space."""
    equal[:] = 0
    for i in range(first, end):
        if abs(x[i] - at_x) <= match_m and abs(y[i] - at_y) <= match_m:
            equal[(i - start) // BITS] |= 1 << ((i - start) % BITS)


@compiled
def next_column(equal: Integers, plus: Integers, minus: Integers, last_bit: int) -> int:
    """Turn one column of the table of edits into the next: where it rises (plus) and falls (minus) by row.

    equal: the rows that match the next column. Returns by how much the row of ``last_bit`` in the last word
    rises.
    """
    carry = 1
    for word in range(len(equal)):
        same, up, down = equal[word], plus[word], minus[word]
        vertical = same | down
        if carry < 0:
            same |= 1
        across = ((((same & up) + up) ^ up) | same) & FULL
        rises = down | (FULL & ~(across | up))
        falls = up & across
        top = last_bit if word == len(equal) - 1 else BITS - 1
        coming = carry
        carry = ((rises >> top) & 1) - ((falls >> top) & 1)
        rises = (rises << 1) & FULL
        falls = (falls << 1) & FULL
        if coming > 0:
            rises |= 1
        elif coming < 0:
            falls |= 1
        plus[word] = falls | (FULL & ~(vertical | rises))
        minus[word] = rises & vertical
    return carry
