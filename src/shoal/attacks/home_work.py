"""The adversary who knows which record is a person's, and looks for home and work in it (semantics 5)."""

from collections import Counter

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.rate import Rate
from shoal.attacks.target import BoxTarget
from shoal.measures.presence import Place, cells_of, holds, likeliest_area, share_of_hours


def attack_home_work(
    evaluation: Evaluation[BoxTarget], utc_offset_s: float = 0.0, *, rng: np.random.Generator
) -> list[Rate]:
    """Whether a record's likeliest cell is home (20 to 6 o'clock) or work (9 to 17, Monday to Friday).

    The true cell is the one that the person visited most at these hours. From a likeliest area of c cells one
    is named at random. Baseline: naming for everybody the cell that most people have. People without a sample
    at these hours are no victims; a place that nobody has is left out.
    """
    del rng  # nothing is drawn: the whole record is known
    raw = BoxTarget.of_trajectories(evaluation.known)
    rates = []
    places: tuple[Place, ...] = ("home", "work")
    for place in places:
        truth = {
            victim: cell
            for victim in evaluation.victims.tolist()
            if (cell := _true_cell(raw, victim, place, utc_offset_s)) is not None
        }
        if not truth:
            continue
        hits = [
            _hit(evaluation.target, int(own), truth[victim], place, utc_offset_s)
            for victim, own in zip(evaluation.victims.tolist(), evaluation.own, strict=True)
            if victim in truth
        ]
        hours = "20 and 6 o'clock" if place == "home" else "9 and 17 o'clock, Monday to Friday,"
        rates.append(
            Rate.of(
                hits,
                name=place,
                knowledge="which record it is",
                attacker="Someone who knows which record is a person's and names its likeliest cell "
                f"between {hours} as {place}.",
                target=evaluation.label,
                baseline=Counter(truth.values()).most_common(1)[0][1] / len(truth),
            )
        )
    return rates


def _true_cell(raw: BoxTarget, victim: int, place: Place, utc_offset_s: float) -> tuple[int, int] | None:
    """The cell with most samples at these hours, the smallest of equals; None without such samples."""
    boxes = raw.record(victim)
    area = likeliest_area(boxes, share_of_hours(boxes, raw.grid.slot_s, place, utc_offset_s))
    return (int(area[0, 0]), int(area[0, 1])) if len(area) else None


def _hit(target: BoxTarget, record: int, cell: tuple[int, int], place: Place, utc_offset_s: float) -> float:
    """The chance to name the true cell out of the record's likeliest area."""
    boxes = target.record(record)
    area = likeliest_area(boxes, share_of_hours(boxes, target.grid.slot_s, place, utc_offset_s))
    return float(holds(area, *cell)) / cells_of(area) if len(area) else 0.0
