"""Reads known samples, exact or with errors, by the sides of all boxes: whose record, and where exactly."""

from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.place_lists import list_of, reach_of
from shoal.attacks.target import BoxTarget
from shoal.kernels.joint_reading import ROUNDS, Contents, PlaceList, expect_visits
from shoal.kernels.noisy_likelihood import Noise, Visits, read_observations
from shoal.runtime.arrays import Floats, Integers

_PART: Final = 20
_RARE: Final = 1e-3  # a share of the visits in a box that is left out
_VISITS: Final[WeakKeyDictionary[BoxTarget, dict[Any, tuple[Visits, Integers]]]] = WeakKeyDictionary()


class NoisyReading(NamedTuple):
    """What observations say; cells [m, 2] are those observed where no place is near."""

    named: Integers  # [v], the class of the likeliest record
    cells: Integers  # where each sample was, by the boxes of that record
    blind: Integers  # the same by how busy places are, without boxes


def read_noisy(
    evaluation: Evaluation[BoxTarget], offsets: Integers, seen: Floats, noise: Noise, classes: Integers
) -> NoisyReading:
    """Weigh these classes by observations [m, 3] of each victim, from offsets[v] on; several share visits."""
    places = list_of(evaluation)
    sizes = np.maximum(evaluation.target.classes.sizes[classes], 2)
    key = classes.tobytes(), evaluation.context.places
    visits_of = _VISITS.setdefault(evaluation.target, {})
    if key not in visits_of:
        visits_of[key] = _visits_in(evaluation, classes, places)
    visits, boxes = visits_of[key]
    named, place_of = np.empty(len(offsets) - 1, dtype=np.int64), np.empty(len(seen), dtype=np.int64)

    def part(mine: slice) -> None:
        rows = slice(offsets[mine.start], offsets[mine.stop])
        of_these = offsets[mine.start : mine.stop + 1] - rows.start
        named[mine], place_of[rows] = read_observations(
            of_these, seen[rows], noise, places, visits, boxes, sizes
        )

    evaluation.run.each_part(part, len(named), _PART, label=f"reading what is known ({evaluation.label})")
    cells = np.column_stack([places.x, places.y])
    read = np.floor(seen[:, 1:]).astype(np.int64)
    blind = read.copy()
    if places.public:
        for row, (_, x, y) in enumerate(seen.tolist()):
            away = (places.x + 0.5 - x) ** 2 + (places.y + 0.5 - y) ** 2
            blind[row] = cells[np.argmax(np.log(places.busyness) - away / (2 * noise.cells**2))]
    read[place_of >= 0] = cells[place_of[place_of >= 0]]
    return NoisyReading(classes[named], read, blind)


def each_place(contents: Contents, habit: Floats, rates: Floats) -> tuple[Integers, Integers, Floats]:
    """Each place in each box, and the draws expected of it: boxes [c], places [c], draws [c]."""
    runs = contents.runs.astype(np.int64)
    entry = np.repeat(np.arange(len(runs)), runs)
    place = np.arange(len(entry)) + (contents.places - np.cumsum(runs) + runs)[entry]
    box = np.repeat(np.arange(len(rates)), np.diff(contents.offsets))[entry]
    sides = contents.sides[entry]
    return box, place, habit[place] * contents.weights[box, sides] * rates[box, sides]


def _visits_in(
    evaluation: Evaluation[BoxTarget], classes: Integers, places: PlaceList
) -> tuple[Visits, Integers]:
    target, reach = evaluation.target, reach_of(evaluation)
    records, sizes = target.classes.records, np.maximum(target.classes.sizes, 2)

    def read(begin: int) -> list[tuple[Integers, Floats]]:
        found = []
        for number in range(begin, min(begin + _PART, len(classes))):
            boxes = records.record(int(classes[number])).astype(np.int64)
            visits = expect_visits(boxes, int(sizes[classes[number]]), places, reach, ROUNDS)
            box, place, expected = each_place(*visits)
            shares = expected / np.maximum(np.bincount(box, expected, len(boxes)), _RARE)[box]
            kept = shares >= _RARE
            rows = [np.full(len(box), number), boxes[box, 0], boxes[box, 1], place]
            found.append((np.column_stack(rows)[kept], shares[kept]))
        return found

    parts = evaluation.run.map(read, range(0, len(classes), _PART), label="expecting visits")
    rows, shares = zip(*(one for part in parts for one in part), strict=True)
    columns, share = np.concatenate(rows), np.concatenate(shares)
    order = np.argsort(columns[:, 3], kind="stable")
    record, starts, ends, place = np.ascontiguousarray(columns[order].T)
    offsets = np.searchsorted(place, np.arange(len(places.x) + 1))
    return Visits(offsets, record, starts, ends, share[order]), np.diff(records.offsets)[classes]
