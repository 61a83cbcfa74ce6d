"""Where the records of two sets are present, and how well they agree, feature by feature."""

import numpy as np

from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled


@compiled
def add_agreement(
    starts: Integers,
    records: Integers,
    shares: Floats,
    surprises: Floats,
    other_starts: Integers,
    other_records: Integers,
    other_shares: Floats,
    other_surprises: Floats,
    scores: Floats,
) -> None:
    """Add to scores [r, o]: for each feature of both, the share of one times the surprise of the other.

    Feature f is shown by records[starts[f] : starts[f + 1]], with a share of the record's presence and the
    log-odds by which the record shows it more than records do on average.
    """
    for feature in range(len(starts) - 1):
        for i in range(starts[feature], starts[feature + 1]):
            row = scores[records[i]]
            for j in range(other_starts[feature], other_starts[feature + 1]):
                row[other_records[j]] += shares[i] * other_surprises[j] + other_shares[j] * surprises[i]


@compiled
def total_presence(offsets: Integers, counts: Integers, corners: float, totals: Floats) -> None:
    """Add to totals [r] the weights that ``list_presence`` shares out, in the same order."""
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
    """Add a share to that of its code in a table with room, -1 = free."""
    place = code % len(codes)
    while codes[place] != code and codes[place] >= 0:
        place = (place + 1) % len(codes)
    codes[place] = code
    shares[place] += share


@compiled
def list_presence(
    offsets: Integers,
    squares: Integers,
    firsts: Integers,
    counts: Integers,
    height: int,
    corners: float,
    totals: Floats,
    listed: Integers,
    listed_shares: Floats,
) -> int:
    """List for each record what share of its presence is in which square; how many were listed.

    squares: int64 [b, 4], the first and the last square of each box in x and y, of which it touches counts
    (0 = the box is left out). A square has the number firsts[box] + x * height + y. corners: of a box's
    presence, what is at its corners; the rest is anywhere in it. totals: float64 [r], all of a record's
    presence. found: int64 [2, at least all counts], filled with records and numbers, each pair once.
    """
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
