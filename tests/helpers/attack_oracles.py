"""What adversaries answer, from the data model alone: every record, box and cell looked at in turn."""

from collections.abc import Callable, Sequence
from math import erf, inf, log, log1p, sqrt

Box = Sequence[float]
Sample = Sequence[float]
Record = Sequence[Box]


def canonical(record: Record) -> list[list[float]]:
    return sorted(list(map(float, box)) for box in record)


def equal_to(records: Sequence[Record], one: int) -> int:
    """How many records are equal to this one, box for box; two where it is alone, as hulls are of several."""
    return max(sum(canonical(other) == canonical(records[one]) for other in records), 2)


def share(low: float, high: float, at: float, n: int | None) -> float:
    """The share of one cell along an axis: of a box filled evenly, or of the hull of n samples and more."""
    length = high - low
    if n is None or length <= 2:
        return 1 / length
    return 1 / (n + 1) if at in (low, high - 1) else (n - 1) / (n + 1) / (length - 2)


def blurred(low: float, high: float, at: float, noise: float, n: int | None) -> float:
    """The same for a place seen with Gaussian noise."""

    def flat(a: float, b: float) -> float:
        return (erf((b - at) / noise / sqrt(2)) - erf((a - at) / noise / sqrt(2))) / 2 / (b - a)

    if n is None or high - low <= 2:
        return flat(low, high)
    within = flat(low + 1, high - 1)
    return (flat(low, low + 1) + flat(high - 1, high)) / (n + 1) + within * (n - 1) / (n + 1)


def holds(box: Box, sample: Sample) -> bool:
    t, x, y = sample
    return box[0] <= t < box[1] and box[2] <= x < box[4] and box[3] <= y < box[5]


def cues_of(record: Record, n: int, known: Sequence[Sample]) -> list[float]:
    """Log density at the samples, evenly and by hulls; at the places over the record; log of its boxes."""
    even = hull = places = 0.0
    for t, x, y in known:
        at = [box for box in record if holds(box, (t, x, y))]
        sides = [((b[0], b[1], t), (b[2], b[4], x), (b[3], b[5], y)) for b in at]
        even += log(sum(share(*a, None) * share(*b, None) * share(*c, None) for a, b, c in sides))
        hull += log(sum(share(*a, n) * share(*b, n) * share(*c, n) for a, b, c in sides))
        here = [b for b in record if b[2] <= x < b[4] and b[3] <= y < b[5]]
        places += log(sum(1 / (b[4] - b[2]) / (b[5] - b[3]) for b in here) / len(record))
    return [even, hull, places, len(known) * log(len(record))]


def noisy_cues_of(
    record: Record, n: int, seen: Sequence[Sample], slots: float, cells: float, floor: float
) -> list[float]:
    """The same of observations with errors; densities as multiples of a floor."""
    even = hull = places = 0.0
    for t, x, y in seen:
        for kind in (None, n):
            density = sum(
                blurred(b[0], b[1], t, slots, kind)
                * blurred(b[2], b[4], x, cells, kind)
                * blurred(b[3], b[5], y, cells, kind)
                for b in record
            )
            if kind is None:
                even += log((density + floor) / floor)
            else:
                hull += log((density + floor) / floor)
        here = sum(blurred(b[2], b[4], x, cells, None) * blurred(b[3], b[5], y, cells, None) for b in record)
        places += log(max(here / len(record), 1e-9))
    return [even, hull, places, len(seen) * log(len(record))]


def chance(scores: Sequence[float], own: int, rounding: float = 1e-9) -> float:
    """The chance to name ``own`` as one of the records with the highest score, but for rounding."""
    best = [r for r, score in enumerate(scores) if score > -inf and score >= max(scores) - rounding]
    return (own in best) / len(best) if best else 1 / len(scores)


def weighed(
    records: Sequence[Record],
    candidates: Sequence[int],
    weights: Sequence[float],
    cues: Callable[[int], Sequence[float]],
) -> list[float]:
    """The score of each record: minus infinity for those that are no candidates."""
    return [
        sum(w * c for w, c in zip(weights, cues(r), strict=True)) if r in candidates else -inf
        for r in range(len(records))
    ]


def visits(record: Record, x: float, y: float, n: int | None) -> float:
    """Visits that a record expects at a cell."""
    here = [b for b in record if b[2] <= x < b[4] and b[3] <= y < b[5]]
    return sum(share(b[2], b[4], x, n) * share(b[3], b[5], y, n) for b in here)


def presence(boxes: Record, weights: Sequence[float], n: int, x: float, y: float) -> tuple[float, float]:
    """(expected, steady) presence at a cell, boxes being hulls of n samples or more."""
    shares = [visits([box], x, y, n) for box in boxes]
    return (
        sum(w * s for w, s in zip(weights, shares, strict=True)),
        sum(w * log1p(1000 * s) for w, s in zip(weights, shares, strict=True)),
    )
