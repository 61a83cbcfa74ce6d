"""Merge the boxes of two groups in two stages (Gramaglia and Fiore 2015, Sec. 6.2)."""

from typing import Any

import numpy as np

from shoal.kernels.stretch import Samples, Scale, nearest_boxes
from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled

Columns = tuple[Integers, Integers, Integers, Integers, Integers, Integers]


@compiled
def _comes_before(boxes: Integers, i: int, j: int) -> bool:
    for column in range(6):
        if boxes[column, i] != boxes[column, j]:
            return bool(boxes[column, i] < boxes[column, j])
    return False


@compiled
def _in_canonical_order(boxes: Integers) -> Integers:
    """By insertion: the boxes of a merge are nearly sorted."""
    order = np.arange(boxes.shape[1])
    for i in range(1, len(order)):
        box, place = order[i], i
        while place > 0 and _comes_before(boxes, box, order[place - 1]):
            order[place] = order[place - 1]
            place -= 1
        order[place] = box
    ordered = np.empty_like(boxes)
    for column in range(6):
        for i in range(len(order)):
            ordered[column, i] = boxes[column, order[i]]
    return ordered


@compiled
def columns_in_order(columns: Columns) -> Integers:
    """[6, m]: columns in canonical order."""
    boxes = np.empty((6, len(columns[0])), dtype=np.int64)
    for column in range(6):
        boxes[column] = columns[column]
    return _in_canonical_order(boxes)


@compiled
def samples_in_order(boxes: Integers) -> Samples:
    """Samples of boxes [6, m] in canonical order."""
    latest = boxes[1].copy()
    for i in range(1, len(latest)):
        latest[i] = max(latest[i], latest[i - 1])
    return Samples(boxes[0], boxes[1], boxes[2], boxes[3], boxes[4], boxes[5], latest)


@compiled
def _stretch_onto(
    onto: Integers, boxes: Integers, n_onto: int, n_boxes: int, scale: Scale, cells: float, slots: float
) -> tuple[Integers, Any]:
    """Not beyond cells (dx + dy) or slots; also which were stretched."""
    stretched, chosen = onto.copy(), np.zeros(onto.shape[1], dtype=np.bool_)
    target = nearest_boxes(samples_in_order(boxes), n_boxes, samples_in_order(onto), n_onto, scale)[0]
    for i in range(len(target)):
        j = target[i]
        wide = (
            max(boxes[4, i], onto[4, j])
            - min(boxes[2, i], onto[2, j])
            + max(boxes[5, i], onto[5, j])
            - min(boxes[3, i], onto[3, j])
        )
        long = max(boxes[1, i], onto[1, j]) - min(boxes[0, i], onto[0, j])
        if wide <= cells and long <= slots:
            chosen[j] = True
            for column in (0, 2, 3):
                stretched[column, j] = min(stretched[column, j], boxes[column, i])
            for column in (1, 4, 5):
                stretched[column, j] = max(stretched[column, j], boxes[column, i])
    return stretched, chosen


@compiled
def merged_boxes(
    longer: Columns, n_long: int, shorter: Columns, n_short: int, scale: Scale, cells: float, slots: float
) -> Integers:
    """[6, m]: the merged boxes in canonical order."""
    # Stage one: every box of the longer joins the box of the shorter that it stretches least. Stage two: each
    # unchosen box of the shorter joins the result of stage one, as stage one left it, that it stretches
    # least.
    few = columns_in_order(shorter)
    stretched, chosen = _stretch_onto(few, columns_in_order(longer), n_short, n_long, scale, cells, slots)
    results = _in_canonical_order(stretched[:, chosen])
    if results.shape[1] == 0 or chosen.all():
        return results
    whole = _stretch_onto(results, few[:, ~chosen], n_long + n_short, n_short, scale, cells, slots)[0]
    return _in_canonical_order(whole)
