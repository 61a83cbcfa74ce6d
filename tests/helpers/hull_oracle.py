"""What hulls tell, by whole tables of boxes and samples: slow, to compare the loops of kernels with."""

from typing import Final

import numpy as np
import numpy.typing as npt

from shoal.runtime.arrays import Floats, Integers

_LOW: Final = (0, 2, 3)  # columns of BOX_COLUMNS: t, x, y
_HIGH: Final = (1, 4, 5)


def named_samples(boxes: Integers, known: Integers) -> Integers:
    """int64 [b, 3] (t, x, y): for each box [b, 6] one sample that is not among the known ones [s, 3].

    On each axis: a side that no known sample touches, the lower one of two; where known samples touch both,
    any coordinate, at first that in the middle of theirs. Among the cells that are then possible, the one
    for which most boxes speak: the possible corners of each share one vote, the first of equals counts.
    """
    low, high = boxes[:, _LOW], boxes[:, _HIGH] - 1
    inside = _inside(boxes, known)
    free_low = ~_touched(inside, known, low)
    free_high = ~_touched(inside, known, high)
    single = low == high
    free_low |= single
    free_high &= ~single
    bound = free_low | free_high
    first = np.where(free_low, low, np.where(free_high, high, _middle(inside, known, low, high)))
    second = np.where(free_low & free_high, high, first)
    cells, votes = _votes(first[:, 1:], second[:, 1:], np.asarray(bound[:, 1:].all(axis=1)))
    named = first.copy()
    if len(cells):
        possible = np.ones((len(boxes), len(cells)), dtype=np.bool_)
        for axis in (1, 2):
            at = cells[:, axis - 1]
            possible &= np.where(
                bound[:, axis, None],
                (at == first[:, axis, None]) | (at == second[:, axis, None]),
                (at >= low[:, axis, None]) & (at <= high[:, axis, None]),
            )
        best = np.argmax(np.where(possible, votes, -1.0), axis=1)
        told = possible[np.arange(len(boxes)), best]
        named[told, 1:] = cells[best[told]]
    return named


def share_right(boxes: Integers, named: Integers, samples: Integers) -> Floats:
    """[4]: shares of boxes for which a sample [s, 3] in the box is named, and for which its cell is.

    Then both again for who names a cell and slot of the box at random.
    """
    inside = _inside(boxes, samples)
    same_cell = inside & (named[:, None, 1:] == samples[None, :, 1:]).all(axis=2)
    same = same_cell & (named[:, None, 0] == samples[None, :, 0])
    area = (boxes[:, 4] - boxes[:, 2]) * (boxes[:, 5] - boxes[:, 3])
    _, cell = np.unique(samples[:, 1:], axis=0, return_inverse=True)
    seen = np.zeros((len(boxes), int(cell.max(initial=-1)) + 1), dtype=np.bool_)
    box, sample = np.nonzero(inside)
    seen[box, cell.ravel()[sample]] = True
    chances = inside.sum(axis=1) / (area * (boxes[:, 1] - boxes[:, 0])), seen.sum(axis=1) / area
    return np.array([one.mean() for one in (same.any(axis=1), same_cell.any(axis=1), *chances)])


def share_of_samples(boxes: Integers, named: Integers, samples: Integers) -> tuple[float, float]:
    """Of the samples [s, 3], the share that is named exactly in a box that holds them; and who guesses."""
    inside = _inside(boxes, samples)
    exact = inside & (named[:, None] == samples[None]).all(axis=2)
    lucky = (inside / np.prod(boxes[:, _HIGH] - boxes[:, _LOW], axis=1)[:, None]).sum(axis=0)
    return float(exact.any(axis=0).mean()), float(np.minimum(lucky, 1).mean())


def errors_of(boxes: Integers, named: Integers, samples: Integers) -> Floats:
    """[s', 2]: how far from each sample that a box holds the one is that is named there, in cells and slots.

    Of several boxes the one that is nearest in place.
    """
    inside = _inside(boxes, samples)
    away = np.hypot(*(named[:, None, axis] - samples[None, :, axis] for axis in (1, 2)))
    nearest = np.argmin(np.where(inside, away, np.inf), axis=0)
    held = np.flatnonzero(inside.any(axis=0))
    late = np.abs(named[nearest[held], 0] - samples[held, 0])
    return np.column_stack([away[nearest[held], held], late]).astype(np.float64)


def _inside(boxes: Integers, samples: Integers) -> npt.NDArray[np.bool_]:
    """[b, s]: whether a box covers a sample."""
    held = np.ones((len(boxes), len(samples)), dtype=np.bool_)
    for axis in range(3):
        at = samples[:, axis]
        held &= (boxes[:, _LOW[axis], None] <= at) & (at < boxes[:, _HIGH[axis], None])
    return held


def _touched(inside: npt.NDArray[np.bool_], known: Integers, side: Integers) -> npt.NDArray[np.bool_]:
    """[b, 3]: whether a known sample in the box has this coordinate."""
    return np.stack(
        [(inside & (known[None, :, axis] == side[:, axis, None])).any(axis=1) for axis in range(3)], axis=1
    )


def _middle(inside: npt.NDArray[np.bool_], known: Integers, low: Integers, high: Integers) -> Integers:
    """[b, 3]: the mean of the known samples in each box, of the box itself where there is none."""
    count = inside.sum(axis=1)[:, None]
    mean = np.where(count > 0, inside.astype(np.int64) @ known / np.maximum(count, 1), (low + high) / 2)
    return np.asarray(np.rint(mean), dtype=np.int64)


def _votes(
    first: Integers, second: Integers, corners_known: npt.NDArray[np.bool_]
) -> tuple[Integers, Floats]:
    """Cells [c, 2] and their votes: the possible corners of each box share one."""
    corners, weights = [], []
    for one in (first, second):
        for other in (first, second):
            corners.append(np.column_stack([one[:, 0], other[:, 1]])[corners_known])
            weights.append(np.full(int(corners_known.sum()), 0.25))
    cells, number = np.unique(np.concatenate(corners), axis=0, return_inverse=True)
    votes = np.bincount(number.ravel(), weights=np.concatenate(weights), minlength=len(cells))
    return cells, votes.astype(np.float64)
