"""The verifier's compiled search for runs of characters that hashes and names have in common."""

from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.runtime.arrays import Flags
from shoal.runtime.compiled import compiled

Words = npt.NDArray[np.uint64]


@compiled
def filter_place(run: Any, places: int) -> Any:
    """Where a run stands in a filter of so many places, a power of two."""
    return np.int64((run ^ (run >> np.uint64(21)) ^ (run >> np.uint64(43))) & np.uint64(places - 1))


@compiled
def fill_filter(runs: Words, filled: npt.NDArray[np.uint8]) -> None:
    """Set the bits of these runs in a filter, uint8 [places / 8]."""
    for i in range(len(runs)):
        place = filter_place(runs[i], 8 * len(filled))
        filled[place >> 3] |= np.uint8(1 << (place & 7))


@compiled
def rows_that_hold(
    digests: npt.NDArray[np.uint8], n_bytes: int, pieces: Words, filled: npt.NDArray[np.uint8]
) -> Flags:
    """[n]: which of the digests [n, bytes] hold one of these pieces of so many bytes, ascending, anywhere.

    filled: the filter of these pieces.
    """
    kept = (np.uint64(1) << np.uint64(8 * n_bytes)) - np.uint64(1)
    found = np.zeros(len(digests), np.bool_)
    for row in range(len(digests)):
        piece = np.uint64(0)
        for place in range(digests.shape[1]):
            piece = ((piece << np.uint64(8)) | np.uint64(digests[row, place])) & kept
            at = filter_place(piece, 8 * len(filled))
            if place >= n_bytes - 1 and filled[at >> 3] >> (at & 7) & 1:
                first = np.searchsorted(pieces, piece)
                if first < len(pieces) and pieces[first] == piece:
                    found[row] = True
                    break
    return found


@compiled
def mark_runs(
    digests: npt.NDArray[np.uint8],
    start: int,
    bits: int,
    length: int,
    runs: Words,
    filled: npt.NDArray[np.uint8],
    met: Flags,
) -> int:
    """Set met [r] for the first of those runs that the digests [n, bytes] hold; how many were looked at.

    The bytes of a digest from ``start`` on are written as characters of so many bits, zeros behind the last.
    A run is ``length`` characters as a number, its last 64 bits. runs: [r] ascending, at least one. filled:
    the filter of these runs.
    """
    width = bits * length
    kept = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(max(64 - width, 0))
    looked = 0
    for row in range(len(digests)):
        run, waiting, n_waiting, n_written = np.uint64(0), 0, 0, 0
        for place in range(start, digests.shape[1] + 1):
            if place < digests.shape[1]:
                waiting = (waiting << 8) | int(digests[row, place])
                n_waiting += 8
            elif n_waiting:  # the last character, filled with zeros
                waiting <<= bits - n_waiting
                n_waiting = bits
            while n_waiting >= bits:
                n_waiting -= bits
                run = ((run << np.uint64(bits)) | np.uint64(waiting >> n_waiting)) & kept
                waiting &= (1 << n_waiting) - 1
                n_written += 1
                if n_written < length:
                    continue
                looked += 1
                at = filter_place(run, 8 * len(filled))
                if filled[at >> 3] >> (at & 7) & 1:
                    first = np.searchsorted(runs, run)
                    if first < len(runs) and runs[first] == run:
                        met[first] = True
    return looked
