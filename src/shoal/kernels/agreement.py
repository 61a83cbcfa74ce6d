"""How well two sets of records agree in presence."""

from typing import NamedTuple

import numpy as np

from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled


class FeatureLists(NamedTuple):
    """Records of feature f: records[starts[f] : starts[f + 1]]."""

    starts: Integers
    records: Integers
    shares: Floats  # of the record's presence
    surprises: Floats  # log-odds against the average record


class TouchedSquares(NamedTuple):
    """Squares that boxes touch; record r has boxes offsets[r] to offsets[r + 1]."""

    offsets: Integers
    squares: Integers  # int64 [b, 4], first and last square in x and y
    firsts: Integers  # [b], the box's first number; a square has the number firsts[box] + x * height + y
    counts: Integers  # [b] squares touched, 0 = the box is ignored
    height: int


@compiled
def add_agreement(lists: FeatureLists, others: FeatureLists, scores: Floats) -> None:
    """Add to scores [r, o], for each shared feature, each record's share times the other's surprise."""
    starts, records, shares, surprises = lists
    other_starts, other_records, other_shares, other_surprises = others
    for feature in range(len(starts) - 1):
        for i in range(starts[feature], starts[feature + 1]):
            row = scores[records[i]]
            for j in range(other_starts[feature], other_starts[feature + 1]):
                row[other_records[j]] += shares[i] * other_surprises[j] + other_shares[j] * surprises[i]


@compiled
def total_presence(offsets: Integers, counts: Integers, corners: float, totals: Floats) -> None:
    """Add to totals [r] the weights of ``list_presence``, in its order."""
    for record in range(len(offsets) - 1):
        first, end = offsets[record], offsets[record + 1]
        for box in range(first, end):
            for _ in range(counts[box]):
                totals[record] += (1 - corners) / counts[box]
        for _ in range(4):
            for box in range(first, end):
                if counts[box] > 0:
                    totals[record] += corners / 4


@compiled
def _add_share(code: int, share: float, codes: Integers, shares: Floats) -> None:
    place = code % len(codes)
    while codes[place] != code and codes[place] >= 0:
        place = (place + 1) % len(codes)
    codes[place] = code
    shares[place] += share


@compiled
def list_presence(
    touched: TouchedSquares, corners: float, totals: Floats, listed: Integers, listed_shares: Floats
) -> int:
    """List each record's presence in each square; return the number of entries."""
    # corners: share of a box's presence at its corners, the rest is even; totals: by ``total_presence``
    offsets, squares, firsts, counts, height = touched
    n = 0
    for record in range(len(offsets) - 1):
        first, end = offsets[record], offsets[record + 1]
        room = 2 * counts[first:end].sum() + 1
        codes, shares = np.full(room, -1, dtype=np.int64), np.zeros(room)
        for box in range(first, end):
            if counts[box] > 0:
                share = (1 - corners) / counts[box] / totals[record]
                for x in range(squares[box, 0], squares[box, 1] + 1):
                    for y in range(squares[box, 2], squares[box, 3] + 1):
                        _add_share(firsts[box] + x * height + y, share, codes, shares)
        for corner in range(4):
            for box in range(first, end):
                if counts[box] > 0:
                    x, y = squares[box, corner // 2], squares[box, 2 + corner % 2]
                    _add_share(firsts[box] + x * height + y, corners / 4 / totals[record], codes, shares)
        for place in range(room):
            if codes[place] >= 0:
                listed[0, n], listed[1, n], listed_shares[n] = record, codes[place], shares[place]
                n += 1
    return n
