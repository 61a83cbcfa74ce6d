"""Whether boxes tell exact places of a public list, and what leaves of the list would cost."""

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from shoal.attacks.attacking import places_known
from shoal.attacks.place_lists import positions_repeat
from shoal.kernels.leaves import grow_to_leaves
from shoal.measures.leaves import part_places
from shoal.messages import Message, join, say
from shoal.model.claims.hull import parse_hull
from shoal.report.words.numbers import meters, percent
from shoal.runtime.arrays import rows_of
from shoal.utility import Facts

PLACES: Final = 10  # in each of the leaves whose cost is measured
READER: Final = "downcoding-place"
_MOST: Final = 0.05  # that a reader may gain over a blind guess before boxes tell places


def station_cautions(facts: Facts, rate: Mapping[str, Any] | None) -> tuple[Message, ...]:
    """What to know before boxes are published that are drawn around few public places.

    rate: of READER against the release, as in ``shoal attack --json``; None where it was not measured.
    """
    original, hull = facts.original, getattr(facts.release.claim, "hull", None)
    if original.grid is None or hull is None or parse_hull(hull).leaf_places:
        return ()
    if places_known(original) is None:
        text = (
            "Positions repeat as those of base stations do, and no list of places was given. With a public "
            "list, an attacker reads more out of boxes than these attacks do: give it with --places FILE (or "
            "--cells FILE) to measure how much."
        )
        return (say("stations.no_list", text),) if positions_repeat(original) else ()
    if rate is None or rate["rate"] - rate["baseline"] <= _MOST:
        return ()
    text = (
        "Boxes tell exact stations: a reader of all boxes with the list of places names one where a member "
        "of the crowd was in {rate} of the boxes, and a blind guess with the same list in {guess}."
    )
    told = say("stations.told", text, rate=percent(rate["rate"]), guess=percent(rate["baseline"]))
    now_m, leaves_m = extents_with_leaves(facts)
    if math.isnan(leaves_m):
        return (told,)
    text = (
        "Boxes of whole leaves (--leaves {places}) do not show which place of a leaf it was. Around these "
        "crowds they would extend {leaves} on average (dx + dy) instead of {now}."
    )
    cost = say("stations.cost", text, places=PLACES, leaves=meters(leaves_m), now=meters(now_m))
    return (join(told, cost),)


def extents_with_leaves(facts: Facts) -> tuple[float, float]:
    """Mean dx + dy of the boxes in meters, as published and around leaves; nan where leaves cannot be."""
    original, release = facts.original, facts.release
    places, cell_m = places_known(original), original.snapped_grid().cell_m
    if places is None or len(places.cells(cell_m)[0]) < PLACES or not release.claim.in_classes:
        return math.nan, math.nan
    leaves = part_places(places, cell_m, parse_hull(f"leaves:{PLACES}"))
    crowd_of = facts.crowds
    subjects = np.flatnonzero(facts.records >= 0)
    subjects = subjects[np.argsort(crowd_of[facts.records[subjects]], kind="stable")]
    n_boxes, now, wider = 0, 0, 0
    for members in np.split(subjects, np.flatnonzero(np.diff(crowd_of[facts.records[subjects]])) + 1):
        rows = rows_of(original.offsets, members)
        rows = rows[np.argsort(original.t[rows], kind="stable")]
        cells = np.column_stack([original.x[rows], original.y[rows]])
        bounds = leaves.bounds[leaves.at(original.x[rows], original.y[rows])]
        boxes = np.stack(release.record(int(facts.records[members[0]])).columns(), axis=1)
        n_boxes += len(members) * len(boxes)
        now += len(members) * int((boxes[:, 4:] - boxes[:, 2:4]).sum())
        grow_to_leaves(boxes, original.t[rows], np.arange(len(rows)), cells, bounds)
        wider += len(members) * int((boxes[:, 4:] - boxes[:, 2:4]).sum())
    return cell_m * now / n_boxes, cell_m * wider / n_boxes
