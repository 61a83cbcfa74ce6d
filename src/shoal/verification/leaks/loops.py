"""Search for runs of characters that hashes and names share."""

from typing import Any, Final

import numpy as np

from shoal.runtime.arrays import Flags
from shoal.runtime.compiled import compiled
from shoal.verification.leaks.forms import Words
from shoal.verification.leaks.plain_hashes import Codes

PIECE: Final = 4  # bytes


@compiled
def filter_place(run: Any, places: int) -> Any:
    """The bit of a run among ``places``, a power of two."""
    return np.int64((run ^ (run >> np.uint64(21)) ^ (run >> np.uint64(43))) & np.uint64(places - 1))


@compiled
def fill_filter(runs: Words, filled: Codes) -> None:
    """Set the bits of runs, uint8 [places / 8]."""
    for i in range(len(runs)):
        place = filter_place(runs[i], 8 * len(filled))
        filled[place >> 3] |= np.uint8(1 << (place & 7))


@compiled
def rows_that_hold(digests: Codes, pieces: Words, filled: Codes) -> Flags:
    """[n]: which digests [n, bytes] hold one of these pieces (ascending) at an even place."""
    mask = (np.uint64(1) << np.uint64(8 * PIECE)) - np.uint64(1)
    holds = np.zeros(len(digests), np.bool_)
    for row in range(len(digests)):
        piece = np.uint64(0)
        for position in range(1, digests.shape[1], 2):
            two = np.uint64(digests[row, position - 1]) << np.uint64(8) | np.uint64(digests[row, position])
            piece = (piece << np.uint64(16) | two) & mask
            at = filter_place(piece, 8 * len(filled))
            if position >= PIECE - 1 and filled[at >> 3] >> (at & 7) & 1:
                first = np.searchsorted(pieces, piece)
                if first < len(pieces) and pieces[first] == piece:
                    holds[row] = True
                    break
    return holds


@compiled
def mark_runs(
    digests: Codes, start: int, bits: int, length: int, runs: Words, filled: Codes, hits: Flags
) -> int:
    """Set hits [r] for the first of equal runs in digests [n, bytes]; return the number compared.

    Bytes from ``start`` on are characters of ``bits`` bits; runs of ``length`` ascend.
    """
    width = bits * length
    mask = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(max(64 - width, 0))
    looked = 0
    for row in range(len(digests)):
        run, waiting, n_waiting, n_written = np.uint64(0), 0, 0, 0
        for position in range(start, digests.shape[1] + 1):
            if position < digests.shape[1]:
                waiting = (waiting << 8) | int(digests[row, position])
                n_waiting += 8
            elif n_waiting:  # the last character, padded with zeros
                waiting <<= bits - n_waiting
                n_waiting = bits
            while n_waiting >= bits:
                n_waiting -= bits
                run = ((run << np.uint64(bits)) | np.uint64(waiting >> n_waiting)) & mask
                waiting &= (1 << n_waiting) - 1
                n_written += 1
                if n_written < length:
                    continue
                looked += 1
                at = filter_place(run, 8 * len(filled))
                if filled[at >> 3] >> (at & 7) & 1:
                    first = np.searchsorted(runs, run)
                    if first < len(runs) and runs[first] == run:
                        hits[first] = True
    return looked
