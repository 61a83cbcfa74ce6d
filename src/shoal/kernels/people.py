"""Samples, places and hours of all people, for the pair search (docs/bounds.md)."""

from typing import NamedTuple

import numpy as np

from shoal.kernels.ordering import sort_in_place
from shoal.kernels.stretch import Raw
from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.compiled import compiled


class Places(NamedTuple):
    """Cells if few are in use, else squares of several."""

    costs: Numbers  # [P, P] least spatial cost between two places, at most half
    x: Integers  # [P] lower corners
    y: Integers
    side: int  # cells along each, 1 = exact costs
    of_sample: Numbers  # [m]
    offsets: Integers  # [n + 1]
    distinct: Numbers  # distinct places of each subject
    weights: Numbers  # samples at each


class Hours(NamedTuple):
    """Active times, in bins of 1 << shift slots from first_t on."""

    first_t: int
    shift: int
    n_bins: int
    slot: Numbers  # [m] of each sample, counted from first_t
    offsets: Integers  # [n + 1]
    distinct: Numbers  # distinct bins of each subject
    weights: Numbers  # samples in each


class People(NamedTuple):
    """Everything about all people."""

    raw: Raw
    places: Places
    hours: Hours


@compiled
def mark_cells(x: Integers, y: Integers, first_x: int, first_y: int, seen: Numbers) -> None:
    """Set seen[row, column] to 1 for each sample's cell, from the first x and y."""
    for i in range(len(x)):
        row, column = x[i] - first_x, y[i] - first_y
        if not seen[row, column]:  # threads that write side by side wait for each other
            seen[row, column] = 1


@compiled
def look_up_cells(
    x: Integers, y: Integers, first_x: int, first_y: int, numbers: Numbers, numbers_of: Numbers
) -> None:
    """Fill numbers_of[i] with numbers[row, column] of each sample's cell."""
    for i in range(len(x)):
        numbers_of[i] = numbers[x[i] - first_x, y[i] - first_y]


@compiled
def distinct_within_subjects(
    offsets: Integers, number: Numbers, count: int
) -> tuple[Numbers, Integers, Numbers, Numbers]:
    """Distinct values within each subject, in order of first appearance."""
    # returns each sample's index [m], offsets [n + 1], the values, and the samples with each
    n, m = len(offsets) - 1, len(number)
    local = np.empty(m, dtype=np.int32)
    starts = np.zeros(n + 1, dtype=np.int64)
    values, weights = np.empty(m, dtype=np.int32), np.empty(m, dtype=np.int32)
    position = np.full(count, -1, dtype=np.int64)
    total = 0
    for subject in range(n):
        begin = total
        for i in range(offsets[subject], offsets[subject + 1]):
            place = position[number[i]]
            if place < begin:
                place = total
                position[number[i]] = place
                values[place], weights[place] = number[i], 0
                total += 1
            local[i] = place - begin
            weights[place] += 1
        starts[subject + 1] = total
    return local, starts, values[:total].copy(), weights[:total].copy()


@compiled
def gap_costs(row: Integers, column: Integers, side: int, per_cell: int, half: int, costs: Numbers) -> None:
    """Fill costs[p, q] with the least spatial cost between squares, at most ``half``."""
    for p in range(len(row)):
        for q in range(len(row)):
            wide, high = abs(row[p] - row[q]), abs(column[p] - column[q])
            gap = max(side * wide - side + 1, 0) + max(side * high - side + 1, 0)
            costs[p, q] = min(per_cell * min(gap, half // per_cell + 1), half)


@compiled
def median_samples(offsets: Integers, t: Integers, x: Integers, y: Integers) -> Integers:
    """[n, 3] the lower median of each subject's t, x and y. t ascends."""
    n = len(offsets) - 1
    medians = np.empty((n, 3), dtype=np.int64)
    for i in range(n):
        first, end = offsets[i], offsets[i + 1]
        middle = (end - first - 1) // 2
        medians[i, 0] = t[first + middle]
        for axis, values in enumerate((x[first:end].copy(), y[first:end].copy())):
            sort_in_place(values)
            medians[i, 1 + axis] = values[middle]
    return medians


@compiled
def least_costs_to_people(offsets: Integers, distinct: Numbers, costs: Numbers, least: Numbers) -> None:
    """Fill least[i, c] with the minimum of costs[:, c] over subject i's places."""
    for i in range(len(offsets) - 1):
        for c in range(costs.shape[1]):
            least[i, c] = costs[distinct[offsets[i]], c]
        for position in range(offsets[i] + 1, offsets[i + 1]):
            for c in range(costs.shape[1]):
                least[i, c] = min(least[i, c], costs[distinct[position], c])
