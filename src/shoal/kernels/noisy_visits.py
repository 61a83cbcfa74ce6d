"""Whose record explains samples known with errors, and where exactly they were, by expected visits."""

import math
from typing import Final, NamedTuple

import numpy as np

from shoal.kernels.joint_reading import PlaceList
from shoal.kernels.noisy_likelihood import Noise
from shoal.kernels.ordering import first_not_below
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled

_FLOOR: Final = 1e-12  # of a sample that no place in the boxes of a record explains


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
