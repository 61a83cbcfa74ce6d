"""Compiled loops over the bytes of a file."""

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled, compiled_for_many

BROKEN: Final = -1
BITS_BEHIND: Final = 1
BYTES_BEHIND: Final = 2
_WIDEST: Final = 32


Bytes = npt.NDArray[np.uint8]


@compiled
def read_number(body: Bytes, at: int) -> tuple[int, int]:
    """(an unsigned number of at most 32 bits, the place after it); -1 = none."""
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
def note_order(number: int, order: Integers) -> None:
    """Update order [2]: the highest number, and 1 once a number skipped one."""
    if number > order[0]:
        if number > order[0] + 1:
            order[1] = 1
        order[0] = number


@compiled
def count_packed(
    body: Bytes, at: int, many: int, n_left: int, width: int, counts: Integers, order: Integers
) -> int:
    """As ``count_numbers``, of packed numbers, of which ``n_left`` belong to the page."""
    waiting, n_waiting, bits_behind = 0, 0, False
    for position in range(many):
        while n_waiting < width:
            waiting |= int(body[at]) << n_waiting
            n_waiting += 8
            at += 1
        number = waiting & ((1 << width) - 1)
        waiting >>= width
        n_waiting -= width
        if position >= n_left:
            bits_behind |= number > 0
        elif number < len(counts):
            counts[number] += 1
            note_order(number, order)
        else:
            return BROKEN
    return BITS_BEHIND if bits_behind else 0


@compiled_for_many
def count_numbers(body: Bytes, n: int, width: int, counts: Integers, order: Integers) -> int:
    """Count n packed numbers into counts [size]; BROKEN, or BITS_BEHIND plus BYTES_BEHIND."""
    at, n_left, extra = 0, n, 0
    while n_left > 0:
        head, at = read_number(body, at)
        many = head >> 1
        packed = head >= 0 and head & 1 == 1
        n_bytes = many * width if packed else (width + 7) // 8
        if many <= 0 or many > ((n_left + 7) // 8 if packed else n_left) or at + n_bytes > len(body):
            return BROKEN
        if packed:
            result = count_packed(body, at, 8 * many, n_left, width, counts, order)
            if result == BROKEN:
                return BROKEN
            extra |= result
            n_left -= min(n_left, 8 * many)
        else:
            value = 0
            for position in range(n_bytes):
                value |= int(body[at + position]) << (8 * position)
            if value >= len(counts):
                return BROKEN
            counts[value] += many
            note_order(value, order)
            n_left -= many
        at += n_bytes
    return extra | (BYTES_BEHIND if at < len(body) else 0)


@compiled_for_many
def round_to(values: Floats, step: float, beyond: float, cells: Integers) -> bool:
    """Round to multiples of a step, into cells [n]; False when one reaches the bound."""
    for i in range(len(values)):
        cell = np.rint(values[i] / step)
        if not abs(cell) < beyond:
            return False
        cells[i] = int(cell)
    return True


@compiled_for_many
def are_multiples(values: Floats, cells: Integers, step: float) -> bool:
    """Whether values are exactly these multiples, including the sign of a zero."""
    for i in range(len(values)):
        multiple = cells[i] * step
        if values[i] != multiple or (multiple == 0.0 and math.copysign(1.0, values[i]) < 0.0):
            return False
    return True
