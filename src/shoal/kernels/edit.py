"""Edit distance on real sequences (EDR): how many samples separate two trajectories, and which become which.

A sample is t seconds, x and y meters; each trajectory ascends by t. Two samples match when they differ by at
most ``match_m`` in x and in y and by at most ``match_s`` in t. Each sample inserted, deleted or replaced
counts 1 (Chen, Oezsu and Oria 2005, Def. 4).
"""

from typing import Final

import numpy as np

from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled

_BITS: Final = 62  # of an int64, so that a sum of two words stays one
_FULL: Final = (1 << _BITS) - 1
_REPLACED: Final = 0
_DELETED: Final = 1
_CREATED: Final = 2


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
    words = (end - start + _BITS - 1) // _BITS
    plus, minus, equal = np.empty(words, np.int64), np.empty(words, np.int64), np.empty(words, np.int64)
    last_bit = (end - start - 1) % _BITS
    for other in range(first + 1, len(offsets) - 1):
        plus[:] = _FULL
        minus[:] = 0
        score = end - start
        low = start
        for j in range(offsets[other], offsets[other + 1]):
            equal[:] = 0
            while low < end and t[low] < t[j] - match_s:
                low += 1
            i = low
            while i < end and t[i] <= t[j] + match_s:
                if abs(x[i] - x[j]) <= match_m and abs(y[i] - y[j]) <= match_m:
                    equal[(i - start) // _BITS] |= 1 << ((i - start) % _BITS)
                i += 1
            carry = 1
            for word in range(words):
                same, up, down = equal[word], plus[word], minus[word]
                vertical = same | down
                if carry < 0:
                    same |= 1
                across = ((((same & up) + up) ^ up) | same) & _FULL
                rises = down | (_FULL & ~(across | up))
                falls = up & across
                top = last_bit if word == words - 1 else _BITS - 1
                coming = carry
                carry = ((rises >> top) & 1) - ((falls >> top) & 1)
                rises = (rises << 1) & _FULL
                falls = (falls << 1) & _FULL
                if coming > 0:
                    rises |= 1
                elif coming < 0:
                    falls |= 1
                plus[word] = falls | (_FULL & ~(vertical | rises))
                minus[word] = rises & vertical
            score += carry
        distances[other] = score


@compiled
def align(
    t: Floats,
    x: Floats,
    y: Floats,
    at_t: Floats,
    at_x: Floats,
    at_y: Floats,
    match_m: float,
    match_s: float,
    speed_m_s: float,
) -> Integers:
    """Which sample of (t, x, y) becomes each of (at_t, at_x, at_y): int64 [len(at_t)], -1 = one is created.

    An optimal script of edits. Among those with as few edits it is the one that moves the samples least,
    where a second counts ``speed_m_s`` meters. Then, from the end, replacing comes before deleting before
    creating.
    """
    m, n = len(t), len(at_t)
    step = np.empty((m + 1, n + 1), np.uint8)
    edits, moved = np.arange(n + 1), np.zeros(n + 1)
    step[0, :] = _CREATED
    for i in range(1, m + 1):
        corner_edits, corner_moved = edits[0], moved[0]
        edits[0], step[i, 0] = i, _DELETED
        for j in range(1, n + 1):
            aside, along = abs(x[i - 1] - at_x[j - 1]), abs(y[i - 1] - at_y[j - 1])
            late = abs(t[i - 1] - at_t[j - 1])
            matches = aside <= match_m and along <= match_m and late <= match_s
            best_edits = corner_edits + (0 if matches else 1)
            best_moved = corner_moved + np.hypot(aside, along) + speed_m_s * late
            chosen = _REPLACED
            for came, edits_before, moved_before in (
                (_DELETED, edits[j], moved[j]),
                (_CREATED, edits[j - 1], moved[j - 1]),
            ):
                if edits_before + 1 < best_edits or (
                    edits_before + 1 == best_edits and moved_before < best_moved
                ):
                    best_edits, best_moved, chosen = edits_before + 1, moved_before, came
            corner_edits, corner_moved = edits[j], moved[j]
            edits[j], moved[j], step[i, j] = best_edits, best_moved, chosen
    source = np.full(n, -1)
    i, j = m, n
    while i > 0 or j > 0:
        if step[i, j] == _REPLACED:
            i, j = i - 1, j - 1
            source[j] = i
        elif step[i, j] == _DELETED:
            i -= 1
        else:
            j -= 1
    return source
