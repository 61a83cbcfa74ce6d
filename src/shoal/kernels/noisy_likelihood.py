"""How likely observations with Gaussian errors are under each record.

The cues of `shoal.kernels.likelihood`, blurred; and by expected visits, where exactly the samples were.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from shoal.kernels.joint_reading import PlaceList
from shoal.kernels.likelihood import (
    NOWHERE,
    KnownSamples,
    LinkResults,
    RecordClasses,
    Victim,
    Workspace,
    answer_victim,
    empty_workspace,
)
from shoal.kernels.ordering import first_not_below
from shoal.kernels.place_index import BoxTiles, rows_during
from shoal.runtime.arrays import Floats, Integers, Numbers
from shoal.runtime.compiled import compiled

MARGIN: Final = 10.0  # natural logarithm: records 22,000 times less likely than the best are not examined
_WIDE: Final = 17.0  # deviations between positions where the error function is -1 and 1 to the last digit
_MOST_KEPT: Final = 4_096  # positions, of very large errors
_FLOOR: Final = 1e-12  # of a sample that no place in the boxes of a record explains


class Noise(NamedTuple):
    """Standard deviations, in slots and in cells on each axis."""

    slots: float
    cells: float
    most_deviations: float  # boxes farther away on an axis are impossible
    floor: float  # density of an observation outside all boxes


class Observation(NamedTuple):
    """Position, errors, and range of possible sides on each axis."""

    at: tuple[float, float, float]
    noise: tuple[float, float, float]
    least: tuple[int, int, int]
    most: tuple[int, int, int]
    firsts: tuple[int, int, int]  # first position for which the error function is tabulated
    widths: tuple[int, int, int]  # number of these positions


@compiled
def _observation_at(t: float, x: float, y: float, noise: Noise) -> Observation:
    late, far = noise.most_deviations * noise.slots, noise.most_deviations * noise.cells
    slots, cells = _table_width(noise.slots), _table_width(noise.cells)
    return Observation(
        (t, x, y),
        (noise.slots, noise.cells, noise.cells),
        (math.floor(t - late), math.ceil(x - far), math.ceil(y - far)),
        (math.ceil(t + late), math.floor(x + far), math.floor(y + far)),
        (math.floor(t) - slots // 2, math.floor(x) - cells // 2, math.floor(y) - cells // 2),
        (slots, cells, cells),
    )


@compiled
def _table_width(noise: float) -> int:
    return int(min(_WIDE * noise, float(_MOST_KEPT))) + 2


@compiled
def _add_densities(
    boxes: Integers,
    owners: Integers,
    rows: tuple[int, int],
    observation: Observation,
    erf_table: Floats,
    sizes: Integers,
    work: Workspace,
    n_now: int,
) -> int:
    # No arrays go to another kernel in this loop: counting their references would take as long as the loop.
    even, hull, now, ends = work.even, work.hull, work.now, np.empty(4)
    at, noise, firsts, widths = observation.at, observation.noise, observation.firsts, observation.widths
    lows, highs, least, most = (0, 2, 3), (1, 4, 5), observation.least, observation.most
    for b in range(rows[0], rows[1]):
        if (
            boxes[b, 1] < least[0]
            or boxes[b, 2] > most[1]
            or boxes[b, 4] < least[1]
            or boxes[b, 3] > most[2]
            or boxes[b, 5] < least[2]
        ):
            continue
        candidate = owners[b]
        if even[candidate] == 0.0:
            now[n_now] = candidate
            n_now += 1
        n, evenly, as_hull = max(sizes[candidate], 2), 1.0, 1.0
        for axis in range(3):
            low, high = boxes[b, lows[axis]], boxes[b, highs[axis]]
            length = high - low
            for side in range(2 if length <= 2 else 4):
                position = high if side % 2 else low
                if side >= 2:
                    position += -1 if side % 2 else 1
                place = position - firsts[axis]
                if 0 <= place < widths[axis]:
                    if math.isnan(erf_table[axis, place]):
                        erf_table[axis, place] = math.erf(
                            (position - at[axis]) / (noise[axis] * math.sqrt(2.0))
                        )
                    ends[side] = erf_table[axis, place]
                else:
                    ends[side] = math.erf((position - at[axis]) / (noise[axis] * math.sqrt(2.0)))
            density = 0.5 * (ends[1] - ends[0]) / length
            evenly *= density
            if length > 2:
                at_ends = 0.5 * (ends[2] - ends[0]) + 0.5 * (ends[1] - ends[3])
                inner = (density * length - at_ends) * (n - 1) / (n + 1) / (length - 2)
                density = at_ends / (n + 1) + inner
            as_hull *= density
        even[candidate] += evenly + 1e-300  # 0 means untouched
        hull[candidate] += as_hull
    return n_now


@compiled
def _explain(
    observation: Observation,
    erf_table: Floats,
    sizes: Integers,
    areas: BoxTiles,
    work: Workspace,
    n_touched: int,
) -> tuple[int, int]:
    n_now, tiles, least, most = 0, areas.tiles, observation.least, observation.most
    for level in range(len(tiles.shifts)):
        shift, reach = tiles.shifts[level], 1 << (tiles.smallest + level)
        first_column = max((least[1] - reach - tiles.west) >> shift, 0)
        first_row = max((least[2] - reach - tiles.south) >> shift, 0)
        end_column = min(((most[1] - tiles.west) >> shift) + 1, tiles.columns[level])
        end_row = min(((most[2] - tiles.south) >> shift) + 1, tiles.across[level])
        for column in range(first_column, end_column):
            for row in range(first_row, end_row):
                tile = tiles.firsts[level] + column * tiles.across[level] + row
                begin, end = rows_during(areas, tile, least[0], most[0])
                if begin < end:
                    n_now = _add_densities(
                        areas.boxes, areas.record, (begin, end), observation, erf_table, sizes, work, n_now
                    )
    for i in range(n_now):
        if work.samples_held[work.now[i]] == 0:
            work.touched[n_touched] = work.now[i]
            n_touched += 1
        work.samples_held[work.now[i]] += 1
    return n_now, n_touched


@compiled
def _place_cue(boxes: Integers, begin: int, end: int, seen: Numbers, noise: Noise, tables: Floats) -> float:
    """No arrays go to another kernel in the loop: see ``_add_densities``."""
    cue, far, scale = 0.0, noise.most_deviations * noise.cells, noise.cells * math.sqrt(2.0)
    lows, highs, width = (0, 2, 3), (1, 4, 5), _table_width(noise.cells)
    for row in range(len(seen)):
        x, y, total = seen[row, 1], seen[row, 2], 0.0
        for b in range(begin, end):
            if (
                boxes[b, 2] > x + far
                or boxes[b, 4] < x - far
                or boxes[b, 3] > y + far
                or boxes[b, 5] < y - far
            ):
                continue
            density = 1.0
            for axis in range(1, 3):
                low, high, until_low, until = boxes[b, lows[axis]], boxes[b, highs[axis]], 0.0, 0.0
                first = math.floor(seen[row, axis]) - width // 2
                for side in range(2):
                    position = high if side else low
                    place = position - first
                    if 0 <= place < width:
                        if math.isnan(tables[row, axis, place]):
                            tables[row, axis, place] = math.erf((position - seen[row, axis]) / scale)
                        until = tables[row, axis, place]
                    else:
                        until = math.erf((position - seen[row, axis]) / scale)
                    if side == 0:
                        until_low = until
                density *= 0.5 * (until - until_low) / (high - low)
            total += density
        cue += math.log(max(total / (end - begin), NOWHERE))
    return cue


@compiled
def _add_noisy_record_cues(
    seen: Numbers,
    noise: Noise,
    record_classes: RecordClasses,
    logs: Floats,
    erf_tables: Floats,
    work: Workspace,
    n_touched: int,
) -> None:
    best, nothing = 0.0, math.log(NOWHERE)
    for i in range(n_touched):
        best = max(best, work.cues[work.touched[i], 0])
    for i in range(n_touched):
        candidate = work.touched[i]
        work.cues[candidate, 3] = len(seen) * logs[candidate]
        if work.cues[candidate, 0] < best - MARGIN:
            for _ in range(len(seen)):
                work.cues[candidate, 2] += nothing
            continue
        begin, end = record_classes.offsets[candidate], record_classes.offsets[candidate + 1]
        work.cues[candidate, 2] += _place_cue(record_classes.boxes, begin, end, seen, noise, erf_tables)


@compiled
def link_noisy_victims(
    victims: KnownSamples,
    noise: Noise,
    record_classes: RecordClasses,
    areas: BoxTiles,
    rules: Floats,
    results: LinkResults,
) -> None:
    """Fill ``results`` from observations [m, 3]; rules: float64 [rules, 4]."""
    # Candidates are the records that explain all observations within the possible deviations. Whole records
    # are compared only for classes nearly as good as the best one (``MARGIN``); others have density
    # ``NOWHERE``.
    work = empty_workspace(len(record_classes.sizes))
    logs, most = np.empty(len(record_classes.sizes)), np.max(np.diff(victims.offsets))
    for candidate in range(len(record_classes.sizes)):
        logs[candidate] = math.log(record_classes.offsets[candidate + 1] - record_classes.offsets[candidate])
    erf_tables = np.empty((most, 3, max(_table_width(noise.slots), _table_width(noise.cells))))
    for victim in range(len(victims.own_class)):
        seen = victims.samples[victims.offsets[victim] : victims.offsets[victim + 1]]
        erf_tables[:] = np.nan
        n_touched = 0
        for row in range(len(seen)):
            observation = _observation_at(seen[row, 0], seen[row, 1], seen[row, 2], noise)
            n_now, n_touched = _explain(
                observation, erf_tables[row], record_classes.sizes, areas, work, n_touched
            )
            for i in range(n_now):
                candidate = work.now[i]
                work.cues[candidate, 0] += math.log((work.even[candidate] + noise.floor) / noise.floor)
                work.cues[candidate, 1] += math.log((work.hull[candidate] + noise.floor) / noise.floor)
                work.even[candidate] = 0.0
                work.hull[candidate] = 0.0
        _add_noisy_record_cues(seen, noise, record_classes, logs, erf_tables, work, n_touched)
        asked = Victim(victim, victims.own_class[victim], victims.picks[victim], len(seen))
        answer_victim(asked, record_classes.sizes, rules, 1, n_touched, work, results)


class Visits(NamedTuple):
    """Visits to places in the boxes of records: those of place p are from offsets[p] to offsets[p + 1]."""

    offsets: Integers
    record: Integers
    starts: Integers  # of the box, in slots
    ends: Integers
    shares: Floats  # of the visits in the box


@compiled
def _density(start: float, end: float, n: int, scale: float) -> float:
    # of an observation at 0, in the hull of n samples from start to end: some lie at its ends
    length, ends = end - start, 0.0
    within = 0.5 * (math.erf(end / scale) - math.erf(start / scale))
    if length <= 2:
        return within / length
    ends = 0.5 * (math.erf((start + 1) / scale) - math.erf(start / scale))
    ends += 0.5 * (math.erf(end / scale) - math.erf((end - 1) / scale))
    return ends / (n + 1) + (within - ends) * (n - 1) / (n + 1) / (length - 2)


@compiled
def _weigh(
    seen: Floats,
    noise: Noise,
    places: PlaceList,
    visits: Visits,
    sizes: Integers,
    only: int,
    now: Floats,
    ever: Floats,
) -> None:
    # the likelihood of an observation, by record and by place; of all records, or of one (only >= 0)
    far, late = noise.most_deviations * noise.cells, noise.most_deviations * noise.slots
    scale = noise.slots * math.sqrt(2.0)
    place = first_not_below(places.x, 0, len(places.x), math.floor(seen[1] - far))
    while place < len(places.x) and places.x[place] <= seen[1] + far:
        east, north = places.x[place] + 0.5 - seen[1], places.y[place] + 0.5 - seen[2]
        if abs(north) <= far:
            near = math.exp(-(east * east + north * north) / (2.0 * noise.cells * noise.cells))
            for i in range(visits.offsets[place], visits.offsets[place + 1]):
                record = visits.record[i]
                if only >= 0 and record != only:
                    continue
                column = place if only >= 0 else record
                ever[column] += near * visits.shares[i]
                start, end = visits.starts[i] - seen[0], visits.ends[i] - seen[0]
                if start <= late and end >= -late:
                    now[column] += near * visits.shares[i] * _density(start, end, sizes[record], scale)
        place += 1


@compiled
def read_observations(
    offsets: Integers,
    seen: Floats,
    noise: Noise,
    places: PlaceList,
    visits: Visits,
    boxes: Integers,
    sizes: Integers,
) -> tuple[Integers, Integers]:
    """The likeliest record by observations [m, 3], [v], and where it has them, [m]; -1 = no place is near.

    boxes, sizes [r]: how many boxes and people (at least 2) each record has.
    """
    named, place_of = np.empty(len(offsets) - 1, dtype=np.int64), np.empty(len(seen), dtype=np.int64)
    now, ever = np.empty(len(boxes)), np.empty(len(boxes))
    at, always = np.empty(len(places.x)), np.empty(len(places.x))
    for victim in range(len(named)):
        score = np.zeros(len(boxes))
        for row in range(offsets[victim], offsets[victim + 1]):
            now[:], ever[:] = 0.0, 0.0
            _weigh(seen[row], noise, places, visits, sizes, -1, now, ever)
            for record in range(len(boxes)):
                score[record] += math.log(now[record] / boxes[record] + _FLOOR)
                score[record] += math.log(ever[record] / boxes[record] + _FLOOR)
        named[victim] = np.argmax(score)
        for row in range(offsets[victim], offsets[victim + 1]):
            at[:], always[:] = 0.0, 0.0
            _weigh(seen[row], noise, places, visits, sizes, named[victim], at, always)
            likeliest = at if at.any() else always
            place_of[row] = np.argmax(likeliest) if likeliest.any() else -1
    return named, place_of
