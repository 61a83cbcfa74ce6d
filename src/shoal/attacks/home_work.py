"""The adversary who knows which record is a person's, and looks for home and work in it (semantics 5)."""

from collections import Counter

import numpy as np

from shoal.attacks.rate import Rate
from shoal.attacks.target import Scene, Target
from shoal.measures.presence import Place, cells_of, holds, likeliest_area, share_of_hours


def attack_home_work(scene: Scene, utc_offset_s: float, rng: np.random.Generator) -> list[Rate]:
    """Home (20 to 6) and work (9 to 17, Monday to Friday).

    The record's likeliest cell is the person's most visited one at these hours.

    Of a likeliest area of c cells one is named at random. Baseline: naming for everybody the cell that is
    most people's. People without a sample at these hours are no victims; a place that nobody has is left out.
    """
    del rng
    raw = Target.of_trajectories(scene.known)
    rates = []
    places: tuple[Place, ...] = ("home", "work")
    for place in places:
        truth = {
            victim: cell
            for victim in scene.victims.tolist()
            if (cell := _true_cell(raw, victim, place, utc_offset_s)) is not None
        }
        if not truth:
            continue
        hits = [
            _hit(scene, int(own), truth[victim], place, utc_offset_s)
            for victim, own in zip(scene.victims.tolist(), scene.own, strict=True)
            if victim in truth
        ]
        hours = "20 and 6 o'clock" if place == "home" else "9 and 17 o'clock, Monday to Friday"
        rates.append(
            Rate.of(
                hits,
                name=place,
                knowledge="which record it is",
                attacker="Someone who knows which record is a person's and names its likeliest cell "
                f"between {hours} as {place}.",
                target=scene.label,
                baseline=Counter(truth.values()).most_common(1)[0][1] / len(truth),
            )
        )
    return rates


def _true_cell(raw: Target, victim: int, place: Place, utc_offset_s: float) -> tuple[int, int] | None:
    """The cell with most samples at these hours, the smallest of equals; None without such samples."""
    boxes = raw.record(victim)
    area = likeliest_area(boxes, share_of_hours(boxes, raw.grid.slot_s, place, utc_offset_s))
    return (int(area[0, 0]), int(area[0, 1])) if len(area) else None


def _hit(scene: Scene, record: int, cell: tuple[int, int], place: Place, utc_offset_s: float) -> float:
    """The chance to name the true cell out of the record's likeliest area."""
    boxes = scene.target.record(record)
    area = likeliest_area(boxes, share_of_hours(boxes, scene.target.grid.slot_s, place, utc_offset_s))
    return float(holds(area, *cell)) / cells_of(area) if len(area) else 0.0
