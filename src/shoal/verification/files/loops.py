"""The verifier's compiled loops over the bytes of a file: the numbers of a page, and outlines."""

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled

BROKEN: Final = -1
BITS_BEHIND: Final = 1
BYTES_BEHIND: Final = 2
_WIDEST: Final = 32


Bytes = npt.NDArray[np.uint8]


@compiled
def whole_number(body: Bytes, at: int) -> tuple[int, int]:
    """(a number of at most 32 bits without sign, the place behind it); -1 where there is none."""
    value, shift = 0, 0
    while at < len(body) and shift < _WIDEST:
        digit = int(body[at])
        value |= (digit & 0x7F) << shift
        at += 1
        shift += 7
        if digit < 0x80:
            return (value if digit > 0 or shift == 7 else BROKEN), at
    return BROKEN, at


@compiled
def keep_order(number: int, order: Integers) -> None:
    """Go on with order [2]: the highest number so far, and 1 when one was more than the next higher."""
    if number > order[0]:
        if number > order[0] + 1:
            order[1] = 1
        order[0] = number


@compiled
def count_packed(
    body: Bytes, at: int, many: int, left: int, width: int, counts: Integers, order: Integers
) -> int:
    """Count ``many`` packed numbers, of which the first ``left`` are of the page; returns as below."""
    waiting, n_waiting, behind = 0, 0, False
    for place in range(many):
        while n_waiting < width:
            waiting |= int(body[at]) << n_waiting
            n_waiting += 8
            at += 1
        number = waiting & ((1 << width) - 1)
        waiting >>= width
        n_waiting -= width
        if place >= left:
            behind |= number > 0
        elif number < len(counts):
            counts[number] += 1
            keep_order(number, order)
        else:
            return BROKEN
    return BITS_BEHIND if behind else 0


@compiled
def count_numbers(body: Bytes, n: int, width: int, counts: Integers, order: Integers) -> int:
    """Add to counts [size] how often each number stands among n, in runs and packed bits of so many bits.

    order [2]: as ``keep_order`` goes on with it. Returns BROKEN when the bytes hold other numbers, or end
    early; else what else they hold: BITS_BEHIND, BYTES_BEHIND, the sum of both, or 0.
    """
    at, left, found = 0, n, 0
    while left > 0:
        head, at = whole_number(body, at)
        many = head >> 1
        packed = head >= 0 and head & 1 == 1
        n_bytes = many * width if packed else (width + 7) // 8
        if many <= 0 or many > ((left + 7) // 8 if packed else left) or at + n_bytes > len(body):
            return BROKEN
        if packed:
            told = count_packed(body, at, 8 * many, left, width, counts, order)
            if told == BROKEN:
                return BROKEN
            found |= told
            left -= min(left, 8 * many)
        else:
            value = 0
            for place in range(n_bytes):
                value |= int(body[at + place]) << (8 * place)
            if value >= len(counts):
                return BROKEN
            counts[value] += many
            keep_order(value, order)
            left -= many
        at += n_bytes
    return found | (BYTES_BEHIND if at < len(body) else 0)


@compiled
def are_outlines(heads: Bytes, head: Bytes, corners: Integers, places: Integers, at: Integers) -> bool:
    """Whether all polygons have this head [h] and the corners of their own box, to the last bit.

    heads: [m, h]. corners: int64 [m, 5, 2], bits of the degrees there. places: int64 [p, 2], bits of the
    degrees of corners of boxes. at [m, 4]: which of these each box has, counterclockwise.
    """
    for row in range(len(at)):
        for byte in range(len(head)):
            if heads[row, byte] != head[byte]:
                return False
        for corner in range(5):
            place = at[row, corner % 4]
            if corners[row, corner, 0] != places[place, 0] or corners[row, corner, 1] != places[place, 1]:
                return False
    return True


@compiled
def round_to(values: Floats, step: float, beyond: float, cells: Integers) -> bool:
    """Set cells [n] to the nearest multiples of a step; False when one is not below a bound."""
    for i in range(len(values)):
        found = np.rint(values[i] / step)
        if not abs(found) < beyond:
            return False
        cells[i] = int(found)
    return True


@compiled
def are_multiples(values: Floats, cells: Integers, step: float) -> bool:
    """Whether all values are these multiples of a step, to the last bit and the sign of a zero."""
    for i in range(len(values)):
        there = cells[i] * step
        if values[i] != there or (there == 0.0 and math.copysign(1.0, values[i]) < 0.0):
            return False
    return True
