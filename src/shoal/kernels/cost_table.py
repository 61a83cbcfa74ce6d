"""What a sample costs at each place and time beside one subject b: a table, so that a cost is two look-ups.

docs/bounds.md derives it.
"""

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.people import People, Places
from shoal.kernels.stretch import Scale
from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.compiled import compiled


class Workspace(NamedTuple):
    """Space for the cost table of one subject b at a time; each thread needs its own.

    table, rows: space for [samples of b + 2, width] and [places of b, width], which lie close together,
    however many places there are. column: [P] of each place; place: [P + 1] of each column; width: [1]
    columns in use. A place from which all of b is too far costs half wherever b is: all such share column 0.
    position: [P] of b's places. events: slots of the table's rows; row_at: the first row not before the start
    of each bin of 1 << shift slots. longest: most samples of one subject; least_spaces: space for raw_sum.
    """

    table: Numbers
    column: Numbers
    place: Integers
    rows: Numbers
    position: Integers
    events: Numbers
    row_at: Numbers
    last_slot: int
    shift: int
    longest: int
    least_spaces: Integers
    width: Integers
    half: int


@compiled
def choose_columns(places: Places, chosen: Integers, least: Numbers, workspace: Workspace) -> None:
    """Give a column to each place of these subjects that is near enough to b to matter."""
    workspace.column[:] = 0
    width = 1
    for a in chosen:
        for p in places.own[places.offsets[a] : places.offsets[a + 1]]:
            if workspace.column[p] == 0 and least[p] < workspace.half:
                workspace.column[p] = width
                workspace.place[width] = p
                width += 1
    workspace.width[0] = width


@compiled
def fill_cost_table(people: People, b: int, least: Numbers, workspace: Workspace, scale: Scale) -> None:
    """Fill the table with what a sample at each chosen place and each time costs beyond least[place].

    cost(p, t) = min over b's samples of min(space, half) + min(time, half). The first min is never below
    least[p]; what lies beyond the cap in time costs least[p] + half. Between two of b's times, the least
    excess comes from one of the two, at per_slot a slot.
    """
    places, hours = people.places, people.hours
    half, per_slot = scale.half, scale.per_slot
    far = half // per_slot + 1
    kind = least.dtype.type
    width, events, table, rows = (
        np.uint64(workspace.width[0]),
        workspace.events,
        workspace.table,
        workspace.rows,
    )
    own = places.own[places.offsets[b] : places.offsets[b + 1]]
    for q in range(np.uint64(len(own))):
        workspace.position[own[q]] = q
        rows[q * width] = 0
        row = places.costs[own[q]]
        for c in range(np.uint64(1), width):
            rows[q * width + c] = row[workspace.place[c]] - least[workspace.place[c]]

    last = np.uint64(0)
    table[:width] = half
    events[0] = -far  # nothing is earlier than slot 0, nor later than the last one
    for i in range(np.uint64(people.raw.offsets[b]), np.uint64(people.raw.offsets[b + 1])):
        slot = hours.slot[i]
        fresh = not last or slot != events[last]
        step = kind(min(per_slot * min(slot - events[last], far), half)) if fresh else kind(0)
        before = last * width
        last += np.uint64(fresh)
        here, row = last * width, np.uint64(workspace.position[places.of_sample[i]]) * width
        for c in range(width):
            reached = kind(table[before + c] + step)
            table[here + c] = min(reached, rows[row + c])
        events[last] = slot
    for j in range(np.int64(last) - 1, 0, -1):
        step = kind(min(per_slot * min(events[j + 1] - events[j], far), half))
        here, after = np.uint64(j) * width, (np.uint64(j) + np.uint64(1)) * width
        for c in range(width):
            reached = kind(table[after + c] + step)
            table[here + c] = min(reached, table[here + c])
    end = last + np.uint64(1)
    table[end * width : (end + np.uint64(1)) * width] = half
    events[end] = workspace.last_slot + far
    filled: Any = 0
    for j in range(1, end):
        stop = (events[j] >> workspace.shift) + 1
        workspace.row_at[filled:stop] = j
        filled = max(filled, stop)
    workspace.row_at[filled:] = end


@compiled
def sum_by_cost_table(
    people: People, a: int, workspace: Workspace, gaps: Numbers, lowest: Any, limit: Any, scale: Scale
) -> Any:
    """Eq. 10 before division from the cost table of b; a sum above ``limit`` may be any sum above it.

    lowest: the sum of a's least spatial and temporal costs. Each sample replaces its share of it by its cost.
    """
    place, slot, column, row_at = (
        people.places.of_sample,
        people.hours.slot,
        workspace.column,
        workspace.row_at,
    )
    events, table, half, per_slot = workspace.events, workspace.table, scale.half, scale.per_slot
    width, bin_shift, index_shift = np.uint64(workspace.width[0]), people.hours.shift, workspace.shift
    total = lowest
    for i in range(np.uint64(people.raw.offsets[a]), np.uint64(people.raw.offsets[a + 1])):
        t, c = slot[i], np.uint64(column[np.uint64(place[i])])
        j = np.uint64(row_at[np.uint64(t >> index_shift)])
        while events[j] < t:
            j += np.uint64(1)
        before = j - np.uint64(1)
        later = table[j * width + c] + per_slot * (events[j] - t)
        earlier = table[before * width + c] + per_slot * (t - events[before])
        total += min(later, earlier, half) - gaps[np.uint64(t >> bin_shift)]
        if total > limit:
            break
    return total
